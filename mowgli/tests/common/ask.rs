//! Requests to the playground.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::served::Served;

/// The answer to a request, its head too.
pub fn ask(served: &Served, method: &str, path: &str, host: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).expect("it listens");
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all((head + body).as_bytes()).expect("it reads");
    let mut answer = Vec::new();
    // A request that is refused may be answered before it is read to the end.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
