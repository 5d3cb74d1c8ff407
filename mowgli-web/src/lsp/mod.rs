//! A language server for litmus tests, which an editor talks to on the standard streams.
//!
//! The editor sends the whole text of a document after each change, and gets its errors and warnings. It asks for the
//! meaning of a statement, for what can be written, and for lenses. The lenses *run* and *why* solve the test on a
//! thread of its own, because the editor goes on asking meanwhile.

mod document;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use serde_json::{Value, json};

use self::document::LitmusDocument;
use mowgli_check::catalogue::Catalogue;
use mowgli_check::error::{Code, InputError};
use mowgli_check::interrupt::{Deadline, Failure};

/// The commands of lenses.
const COMMANDS: [&str; 2] = ["mowgli.run", "mowgli.why"];

/// Serves one editor until it ends the connection. A test has so many `steps`, and is cancelled after some `seconds`.
///
/// # Errors
/// If the editor breaks the protocol.
pub fn serve(catalogue: &Catalogue, steps: u64, seconds: Option<u64>) -> Result<(), InputError> {
    let (connection, threads) = Connection::stdio();
    let capabilities = json!({
        "textDocumentSync": 1,
        "hoverProvider": true,
        "completionProvider": { "triggerCharacters": ["."] },
        "codeLensProvider": {},
        "executeCommandProvider": { "commands": COMMANDS },
    });
    connection.initialize(capabilities).map_err(|e| {
        InputError::new(Code::Tool, format!("no editor began a conversation: {e}"))
            .help("an editor starts `mowgli lsp`, and talks to it on the standard streams")
    })?;
    let served = Server { catalogue, steps, seconds, ended: AtomicBool::new(false) }.serve(&connection);
    drop(connection);
    served.and_then(|()| threads.join().map_err(|e| InputError::of(Code::Tool, e)))
}

struct Server<'a> {
    catalogue: &'a Catalogue,
    steps: u64,
    seconds: Option<u64>,
    /// Whether the editor has gone, so that nobody waits for answers.
    ended: AtomicBool,
}

impl Server<'_> {
    fn serve(&self, connection: &Connection) -> Result<(), InputError> {
        let mut open: BTreeMap<String, String> = BTreeMap::new();
        thread::scope(|scope| {
            let mut served = Ok(());
            for message in &connection.receiver {
                match message {
                    Message::Request(request) => match connection.handle_shutdown(&request) {
                        Ok(false) if request.method == "workspace/executeCommand" => {
                            let text = open.get(document_of(&request)).cloned();
                            let sender = connection.sender.clone();
                            scope.spawn(move || sender.send(self.solved(&request, text).into()));
                        }
                        Ok(false) => {
                            let text = open.get(document_of(&request)).cloned();
                            let _ = connection.sender.send(self.answer(request, text).into());
                        }
                        done => {
                            served = done.map(|_| ()).map_err(|e| InputError::of(Code::Tool, e));
                            break;
                        }
                    },
                    Message::Notification(notification) => {
                        let sent = self.changed(&mut open, &notification);
                        let _ = sent.map(|diagnostics| connection.sender.send(diagnostics.into()));
                    }
                    Message::Response(_) => {}
                }
            }
            self.ended.store(true, Ordering::Relaxed);
            served
        })
    }

    fn document<'t>(&'t self, uri: &'t str, text: &'t str) -> LitmusDocument<'t> {
        LitmusDocument { catalogue: self.catalogue, uri, text }
    }

    /// Follows a change of a document; returns its errors and warnings.
    fn changed(&self, open: &mut BTreeMap<String, String>, notification: &Notification) -> Option<Notification> {
        let params = &notification.params;
        let uri = params["textDocument"]["uri"].as_str()?.to_owned();
        let text = match notification.method.as_str() {
            "textDocument/didOpen" => params["textDocument"]["text"].as_str(),
            "textDocument/didChange" => params["contentChanges"].as_array()?.last()?["text"].as_str(),
            "textDocument/didClose" => None,
            _ => return None,
        };
        let diagnostics = text.map_or_else(|| json!([]), |text| self.document(&uri, text).diagnostics());
        match text {
            Some(text) => _ = open.insert(uri.clone(), text.to_owned()),
            None => _ = open.remove(&uri),
        }
        let params = json!({ "uri": uri, "diagnostics": diagnostics });
        Some(Notification::new("textDocument/publishDiagnostics".to_owned(), params))
    }

    /// Answers a question about the text of a document.
    fn answer(&self, request: Request, text: Option<String>) -> Response {
        let Some(text) = text else { return not_open(&request) };
        let document = self.document(document_of(&request), &text);
        let position = &request.params["position"];
        let at = document.byte(position["line"].as_u64(), position["character"].as_u64());
        let result = match request.method.as_str() {
            "textDocument/hover" => document.hover(at),
            "textDocument/completion" => document.completions(at),
            "textDocument/codeLens" => document.lenses(),
            other => {
                let message = format!("there is no {other}");
                return Response::new_err(request.id.clone(), ErrorCode::MethodNotFound as i32, message);
            }
        };
        Response::new_ok(request.id, result)
    }

    /// Runs the command of a lens: returns the outcomes, or the explanation, as text.
    fn solved(&self, request: &Request, text: Option<String>) -> Response {
        let Some(text) = text else { return not_open(request) };
        let deadline = Deadline::after(self.seconds).within(self.steps);
        let expired = || deadline.expired() || self.ended.load(Ordering::Relaxed);
        let (document, params) = (self.document(document_of(request), &text), &request.params);
        let wrong = |message: String| Failure::from(InputError::new(Code::Argument, message));
        let solved = match params["command"].as_str() {
            Some("mowgli.run") => document.outcomes(&expired),
            Some("mowgli.why") => {
                let number = &params["arguments"][1];
                let assertion = if number.is_null() { Some(0) } else { number.as_u64() };
                match assertion.and_then(|n| usize::try_from(n).ok()) {
                    Some(assertion) => document.explanation(assertion, &expired),
                    None => Err(wrong(format!("{number} is no number of an assertion; the first is 0"))),
                }
            }
            _ => Err(wrong(format!("the commands are {}", COMMANDS.join(" and ")))),
        };
        let failed = |e: Failure| Response::new_err(request.id.clone(), ErrorCode::RequestFailed as i32, e.to_string());
        solved.map_or_else(failed, |text| Response::new_ok(request.id.clone(), text))
    }
}

/// Returns the document that a request is about; empty if it names none.
fn document_of(request: &Request) -> &str {
    let params = &request.params;
    let named: &Value =
        if params["arguments"].is_array() { &params["arguments"][0] } else { &params["textDocument"]["uri"] };
    named.as_str().unwrap_or_default()
}

fn not_open(request: &Request) -> Response {
    let message = format!("{}: the document {} is not open", request.method, document_of(request));
    Response::new_err(request.id.clone(), ErrorCode::InvalidParams as i32, message)
}
