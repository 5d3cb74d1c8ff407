//! HTTP/1.1 for one page on this machine: reads a request, writes an answer, and closes the connection.
//!
//! Only what a browser sends to a page of its own is read: a head, and a body whose length the head gives.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// The longest head that is read, in bytes.
const LONGEST_HEAD: usize = 16 * 1024;

/// The most header fields that are read.
const MOST_FIELDS: usize = 64;

/// The longest body that is read to its end although it is refused, in bytes: a browser shows an answer only then.
const LONGEST_REFUSED: u64 = 16 * 1024 * 1024;

/// The time that a client has for its next bytes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request.
pub(super) struct Request {
    /// `GET`, `POST`, or another.
    pub(super) method: String,
    /// The part of the target before `?`.
    pub(super) path: String,
    /// The value of the field `Host`.
    pub(super) host: Option<String>,
    /// The value of the field `Origin`.
    pub(super) origin: Option<String>,
    /// The body, or `None` if it is longer than allowed.
    pub(super) body: Option<Vec<u8>>,
}

/// The head of a request, with the length of the body that follows.
struct RequestHead {
    request: Request,
    length: u64,
    /// True if the client asks before it sends its body.
    asks: bool,
}

/// Reads a request whose body has at most `longest` bytes; `None` if the client has gone, is silent, or sends something else.
pub(super) fn read(stream: &mut TcpStream, longest: u64) -> Option<Request> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    let mut bytes = Vec::new();
    let (head, end) = loop {
        match parsed(&bytes)? {
            Some(found) => break found,
            None if bytes.len() > LONGEST_HEAD => return None,
            None => more(stream, &mut bytes)?,
        }
    };
    let RequestHead { mut request, length, asks } = head;
    if asks {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let mut rest = io::Read::chain(&bytes[end..], stream).take(length);
    if length > longest {
        io::copy(&mut rest.take(LONGEST_REFUSED), &mut io::sink()).ok()?;
        return Some(request);
    }
    let mut body = Vec::new();
    rest.read_to_end(&mut body).ok()?;
    request.body = (body.len() as u64 == length).then_some(body);
    request.body.is_some().then_some(request)
}

/// Reads what has come; `None` at the end.
fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 4096];
    let length = stream.read(&mut buffer).ok().filter(|length| *length > 0)?;
    bytes.extend_from_slice(&buffer[..length]);
    Some(())
}

/// Parses the head of a request, and returns it with its length. The inner `None` says that the end of the head has not
/// come. The outer one says that this is not a request, or one whose length is not given.
fn parsed(bytes: &[u8]) -> Option<Option<(RequestHead, usize)>> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let httparse::Status::Complete(end) = parsed.parse(bytes).ok()? else { return Some(None) };
    let field = |name: &str| {
        let found = parsed.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.map(|field| String::from_utf8_lossy(field.value).into_owned())
    };
    if field("Transfer-Encoding").is_some() {
        return None;
    }
    let length = field("Content-Length").map_or(Ok(0), |length| length.trim().parse()).ok()?;
    let path = parsed.path?.split('?').next()?;
    let request = Request {
        method: parsed.method?.to_owned(),
        path: path.to_owned(),
        host: field("Host"),
        origin: field("Origin"),
        body: None,
    };
    Some(Some((RequestHead { request, length, asks: field("Expect").is_some() }, end)))
}

/// Writes an answer, after which the connection is closed. A client that has gone needs none.
pub(super) fn write(stream: &mut TcpStream, status: &str, kind: &str, text: &[u8]) {
    begin(stream, status, kind, &format!("Content-Length: {}\r\n", text.len()));
    let _ = stream.write_all(text).and_then(|()| stream.flush());
}

/// Begins an answer whose end is that of the connection, or that `length` gives. A page has its policy in its head. Browsers
/// take one part only from here: no other page may show it in a frame.
pub(super) fn begin(stream: &mut TcpStream, status: &str, kind: &str, length: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}Cache-Control: no-store\r\n\
         Content-Security-Policy: frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes());
}

/// Writes a line of an answer that has begun.
pub(super) fn line(mut stream: &TcpStream, line: &str) {
    let _ = stream.write_all(line.as_bytes()).and_then(|()| stream.write_all(b"\n")).and_then(|()| stream.flush());
}

/// True if the client has closed the connection: it has sent all of its request, so what it still sends counts for nothing.
pub(super) fn is_closed(stream: &TcpStream) -> bool {
    let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    let _ = stream.set_nonblocking(false);
    match peeked {
        Ok(length) => length == 0,
        Err(e) => e.kind() != io::ErrorKind::WouldBlock,
    }
}
