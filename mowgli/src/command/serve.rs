//! The `serve` command: a page on which a litmus test is edited and solved.
//!
//! Each test is solved by a process of its own, with bounds on time and memory, so that no input can take the server down.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::catalogue::Catalogue;
use crate::interrupt::Deadline;
use crate::litmus::parse::parse_in;
use crate::report::{Page, TestRow};
use clap::Args;
use mowgli_core::outcome::Limits;
use tiny_http::{Header, Method, Request, Response, Server};

/// The longest test that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The bounds on one test.
#[derive(Args, Clone, Copy)]
struct Bounds {
    /// Seconds for one test.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(0..=600))]
    timeout: u64,
    /// Memory for one test, in MiB.
    #[arg(long, default_value_t = 2048, value_name = "M", value_parser = clap::value_parser!(u64).range(64..))]
    memory: u64,
}

#[derive(Args)]
#[command(after_help = "Example:\n  mowgli serve --port 7373    and open http://localhost:7373")]
pub(super) struct ServeArgs {
    /// The port on this machine's own address; nothing is reachable from outside.
    #[arg(long, default_value_t = 7373, value_name = "P")]
    port: u16,
    #[command(flatten)]
    bounds: Bounds,
}

#[derive(Args)]
pub(super) struct SolveArgs {
    #[command(flatten)]
    bounds: Bounds,
}

/// Serves until it is stopped.
pub(super) fn serve(args: &ServeArgs) -> Result<u8, String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let server = Server::http(address).map_err(|e| format!("port {}: {e}; choose another with --port", args.port))?;
    let port = server.server_addr().to_ip().map_or(args.port, |a| a.port());
    // A reader that waits for the address gets it at once.
    println!("http://localhost:{port}");
    std::io::stdout().flush().map_err(|e| e.to_string())?;
    let bounds = args.bounds;
    for request in server.incoming_requests() {
        std::thread::spawn(move || answer(request, port, bounds));
    }
    Ok(0)
}

fn typed(text: String, kind: &str) -> Response<std::io::Cursor<Vec<u8>>> {
    let header = Header::from_bytes("Content-Type", kind).expect("a fixed header");
    Response::from_string(text).with_header(header)
}

/// Whether a request is for this machine by name: another site's page cannot ask under its own.
fn is_local(request: &Request, port: u16) -> bool {
    let host = request.headers().iter().find(|h| h.field.equiv("Host")).map(|h| h.value.as_str().to_owned());
    [format!("localhost:{port}"), format!("127.0.0.1:{port}")].iter().any(|own| host.as_ref() == Some(own))
}

fn answer(mut request: Request, port: u16, bounds: Bounds) {
    let is_other_site = request.headers().iter().any(|h| {
        h.field.equiv("Origin")
            && h.value != format!("http://localhost:{port}")
            && h.value != format!("http://127.0.0.1:{port}")
    });
    let response = match (request.method(), request.url()) {
        _ if !is_local(&request, port) || is_other_site => {
            typed("for this machine only".into(), "text/plain").with_status_code(403)
        }
        (Method::Get, "/") => {
            let page = Page { title: "Mowgli: a litmus test".to_owned(), playground: true, ..Page::default() };
            typed(page.html(), "text/html; charset=utf-8")
        }
        (Method::Post, "/solve") => {
            let mut text = String::new();
            let read = request.as_reader().take(LONGEST + 1).read_to_string(&mut text);
            let page = match read {
                Ok(n) if n as u64 <= LONGEST => solved_apart(&text, bounds),
                Ok(_) => Err(format!("a test has at most {LONGEST} bytes")),
                Err(e) => Err(e.to_string()),
            };
            typed(page.unwrap_or_else(|e| failed(&e)), "application/json")
        }
        _ => typed("there is only one page".into(), "text/plain").with_status_code(404),
    };
    // A browser that has gone needs no answer.
    let _ = request.respond(response);
}

fn failed(message: &str) -> String {
    let page = Page { errors: vec![message.to_owned()], ..Page::default() };
    serde_json::to_string(&page).expect("strings")
}

/// Solves a test in a process of its own.
fn solved_apart(text: &str, bounds: Bounds) -> Result<String, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let (timeout, memory) = (bounds.timeout.to_string(), bounds.memory.to_string());
    let mut child = Command::new(own)
        .args(["solve-for-page", "--timeout", &timeout, "--memory", &memory])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    stdin.write_all(text.as_bytes()).map_err(|e| e.to_string())?;
    drop(stdin);
    let reader = std::thread::spawn(move || {
        let mut out = String::new();
        stdout.read_to_string(&mut out).map(|_| out)
    });
    // Its own limit comes first; this is for work between two looks at the clock.
    let deadline = Instant::now() + Duration::from_secs(bounds.timeout + 2);
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) if status.success() => break,
            Some(_) => return Err(format!("this test needs more than {} MiB, or Mowgli failed", bounds.memory)),
            None if Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("this test needs more than {} s", bounds.timeout));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    reader.join().map_err(|_| "the answer could not be read".to_owned())?.map_err(|e| e.to_string())
}

/// The child of [`solved_apart`]: reads a test, prints what the page shows of it.
pub(super) fn solve_for_page(args: &SolveArgs, catalogue: &Catalogue) -> Result<u8, String> {
    let bytes = args.bounds.memory * 1024 * 1024;
    #[cfg(target_os = "linux")]
    rlimit::setrlimit(rlimit::Resource::AS, bytes, bytes).map_err(|e| e.to_string())?;
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| e.to_string())?;
    let deadline = Deadline::after(Some(args.bounds.timeout));
    let expired = || deadline.expired();
    let page = match parse_in(catalogue, "the test", &text) {
        Ok(test) => {
            let row = TestRow::new(catalogue, &test, &text, Limits { expired: &expired, ..Limits::default() });
            Page { tests: vec![row], ..Page::default() }
        }
        Err(message) => Page { errors: vec![message], ..Page::default() },
    };
    println!("{}", serde_json::to_string(&page).expect("strings and numbers"));
    Ok(0)
}
