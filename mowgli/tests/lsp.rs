//! The language server, through its protocol.

use std::io::BufReader;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lsp_server::{Message, Notification, Request, ResponseError};
use serde_json::{Value, json};

use crate::ran::is_bad;

const URI: &str = "file:///put.litmus";

const TEST: &str = "RDMA_WAIT put\n{ x@1 = 0; z@2 = 0; svar s = 0; }\n P1@1 | P2@2 ;\n put(z, x, d) | a := s.read ;\n \
                    wait(d) | ;\n x := 1 | ;\nforbidden (z=1)\nallowed (z=0)\n";

/// An editor that has started the server.
pub struct Editor {
    server: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: i32,
}

impl Editor {
    pub fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mowgli"));
        let mut server = command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (to, from) = (server.stdin.take().expect("piped"), server.stdout.take().expect("piped"));
        let mut editor = Self { server, to, from: BufReader::new(from), asked: 0 };
        let capable = editor.ask("initialize", json!({ "capabilities": {} })).unwrap();
        assert_eq!(capable["capabilities"]["hoverProvider"], true, "{capable}");
        editor.tell("initialized", json!({}));
        editor
    }

    fn tell(&mut self, method: &str, params: Value) {
        let message = Message::Notification(Notification::new(method.to_owned(), params));
        message.write(&mut self.to).expect("the server reads");
    }

    fn next(&mut self) -> Message {
        Message::read(&mut self.from).expect("a message").expect("the server is there")
    }

    /// Asks, and waits for the answer.
    fn ask(&mut self, method: &str, params: Value) -> Result<Value, ResponseError> {
        self.asked += 1;
        let request = Request::new(self.asked.into(), method.to_owned(), params);
        Message::Request(request).write(&mut self.to).expect("the server reads");
        match self.next() {
            Message::Response(response) if response.id == self.asked.into() => response.response_result,
            other => panic!("{other:?} is no answer to {method}"),
        }
    }

    /// Asks about a place of the document.
    fn at(&mut self, method: &str, line: u32, character: u32) -> Value {
        let position = json!({ "line": line, "character": character });
        let params = json!({ "textDocument": { "uri": URI }, "position": position });
        self.ask(&format!("textDocument/{method}"), params).expect("an answer")
    }

    /// Opens the document, or changes it; returns its diagnostics.
    fn write(&mut self, text: &str, is_new: bool) -> Value {
        let document = json!({ "uri": URI, "languageId": "litmus", "version": 1, "text": text });
        match is_new {
            true => self.tell("textDocument/didOpen", json!({ "textDocument": document })),
            false => {
                let changes = json!([{ "text": text }]);
                self.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
            }
        }
        match self.next() {
            Message::Notification(sent) if sent.method == "textDocument/publishDiagnostics" => {
                assert_eq!(sent.params["uri"], URI);
                sent.params["diagnostics"].clone()
            }
            other => panic!("{other:?} are no diagnostics"),
        }
    }

    /// Solves a test, in place of the one that is open.
    pub fn solved(&mut self, text: &str, is_new: bool) -> String {
        self.write(text, is_new);
        self.run("mowgli.run", json!([URI]))
    }

    /// Runs a command; returns its text, or the message of its error.
    fn run(&mut self, command: &str, arguments: Value) -> String {
        let asked = json!({ "command": command, "arguments": arguments });
        let answer = self.ask("workspace/executeCommand", asked);
        answer.map_or_else(|error| error.message, |text| text.as_str().expect("text").to_owned())
    }

    fn end(mut self) {
        self.ask("shutdown", Value::Null).unwrap();
        self.tell("exit", Value::Null);
        assert!(self.server.wait().unwrap().success());
    }
}

#[test]
fn errors_are_shown_where_they_are_and_go_when_they_are_mended() {
    let mut editor = Editor::start();
    // The first line has a letter of two units in UTF-16.
    let wrong = editor.write(&TEST.replace("put(z, x, d)", "(* \u{1d53c} *) put(y, x, d)"), true);
    let range = json!({ "start": { "line": 3, "character": 14 }, "end": { "line": 3, "character": 15 } });
    assert_eq!((&wrong[0]["range"], &wrong[0]["severity"], &wrong[1]), (&range, &json!(1), &Value::Null), "{wrong}");
    assert!(wrong[0]["message"].as_str().unwrap().starts_with("y is not declared"), "{wrong}");
    assert_eq!(editor.at("codeLens", 0, 0), json!([]));
    assert_eq!(editor.at("hover", 3, 12), Value::Null);
    assert_eq!(editor.write(TEST, false), json!([]));
    let warned = editor.write(&TEST.replace(" wait(d)", " wait(e)"), false);
    assert_eq!((&warned[0]["severity"], &warned[0]["range"]["start"]["line"]), (&json!(2), &json!(4)), "{warned}");
    assert_eq!(editor.write("", false)[0]["severity"], 1);
    editor.end();
}

#[test]
fn words_of_no_editor_are_bad_input() {
    is_bad(&["lsp"], &["no editor began a conversation", "an editor starts `mowgli lsp`"]);
}

#[test]
fn statements_are_explained_and_completed() {
    let mut editor = Editor::start();
    assert_eq!(editor.write(TEST, true), json!([]));
    let shown = editor.at("hover", 3, 3)["contents"]["value"].as_str().unwrap().to_owned();
    assert!(shown.starts_with("P1, line 4: put(z, x, d)\n\nrdma-wait-rmw: `Put(x, y, d)`: copies"), "{shown}");
    assert!(shown.ends_with("aNLR_2 reads x on node 1\naNRW_2 writes z on node 2"), "{shown}");
    assert_eq!(editor.at("hover", 0, 3), Value::Null);
    let labels = |items: Value| -> Vec<String> {
        items.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    };
    let calls = labels(editor.at("completion", 4, 3));
    for known in ["put(remote, local, d)", "wait(d)", "x.write(v)", "await", "bal"] {
        assert!(calls.iter().any(|label| label == known), "{known}: {calls:?}");
    }
    let methods = labels(editor.at("completion", 3, 24));
    assert!(methods.contains(&"read".to_owned()) && methods.contains(&"write(v)".to_owned()), "{methods:?}");
    assert!(!methods.iter().any(|label| label.starts_with("put") || label.starts_with("cas")), "{methods:?}");
    let declared = labels(editor.at("completion", 1, 12));
    assert!(declared.contains(&"svar x = 0;".to_owned()), "{declared:?}");
    editor.write("", false);
    assert!(labels(editor.at("completion", 0, 0)).contains(&"RDMA_TSO".to_owned()));
    editor.end();
}

#[test]
fn lenses_solve_and_explain() {
    let mut editor = Editor::start();
    editor.write(TEST, true);
    let lenses = editor.at("codeLens", 0, 0);
    let titles: Vec<_> = lenses.as_array().unwrap().iter().map(|lens| &lens["command"]["title"]).collect();
    assert_eq!(titles, ["run", "why", "why"]);
    assert_eq!(lenses[1]["range"]["start"]["line"], 6);
    let outcomes = editor.run("mowgli.run", lenses[0]["command"]["arguments"].clone());
    assert!(outcomes.contains("States 1") && outcomes.contains("forbidden (z=1)"), "{outcomes}");
    let why = editor.run("mowgli.why", lenses[1]["command"]["arguments"].clone());
    assert!(why.contains("put: (z=1) is impossible") && why.contains("wait(d)"), "{why}");
    assert!(editor.run("mowgli.why", json!([URI, 9])).contains("no assertion 9: the test has 2"));
    for number in [json!(-1), json!("one"), json!(0.5)] {
        assert!(editor.run("mowgli.why", json!([URI, number])).contains("is no number of an assertion"));
    }
    assert!(editor.run("mowgli.run", json!(["file:///other.litmus"])).contains("is not open"));
    assert!(editor.run("mowgli.walk", json!([URI])).contains("mowgli.run"));
    let unknown = editor.ask("textDocument/rename", json!({ "textDocument": { "uri": URI } }));
    assert!(unknown.unwrap_err().message.contains("rename"));
    editor.end();
}
