//! A connection between two processes: the lines that travel over it, and its end.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use socket2::{SockRef, TcpKeepalive};

use super::place::{ProcessPlace, secret};
use crate::made::HashKey;
use crate::port::Fault;

/// The version that the greeting carries, with the fingerprint of all sources of this crate. Processes with other code would read each
/// other's words differently, also if their version has the same number.
pub(super) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("MOWGLI_SOURCES"));

/// The time without any sign of life from the other machine after which a connection counts as cut.
const SILENCE: Duration = Duration::from_secs(5);

/// The time limit for connecting to the first process, and for writing a line.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest line, in bytes.
const LONGEST: u64 = 1 << 28;

/// The first character of a line: a message, a fault, or the end of the connection.
const MESSAGE: char = '=';
const FAULT: char = '!';
const BYE: char = '.';

type SharedStream = Arc<Mutex<TcpStream>>;

/// The first fault of this process or another. The process sends it once, over all its connections.
#[derive(Default)]
pub(crate) struct Trouble {
    is_there: AtomicBool,
    said: Mutex<(Option<Fault>, Vec<SharedStream>)>,
}

impl Trouble {
    #[inline]
    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn fault(&self) -> Option<Fault> {
        if self.is_there() { self.known() } else { None }
    }

    #[cold]
    fn known(&self) -> Option<Fault> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Records the first fault, and sends it over all connections.
    pub(crate) fn set(&self, fault: Fault) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.0.is_some() {
            return;
        }
        let text = as_text(&fault);
        said.1.iter().for_each(|writer| send(writer, FAULT, &text));
        said.0 = Some(fault);
        self.is_there.store(true, Ordering::Relaxed);
    }

    /// Adds a connection over which a later fault is sent.
    pub(super) fn tell(&self, writer: SharedStream) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).1.push(writer);
    }
}

fn as_text(fault: &Fault) -> String {
    serde_json::to_string(fault).expect("a name and a string")
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn send(writer: &SharedStream, kind: char, text: &str) {
    let line = format!("{kind}{text}\n");
    // A failed write can be ignored, because the thread that reads this connection notices that the other process has
    // gone.
    _ = writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
}

/// A connection to the process of a rank.
pub(super) struct Link {
    pub(super) rank: usize,
    writer: SharedStream,
    lines: Mutex<Receiver<String>>,
}

/// The result of waiting for a message on a connection.
pub(super) enum Received {
    Line(String),
    Nothing,
    Trouble(Fault),
}

impl Link {
    /// Creates a connection, and starts the thread that reads it. `gone` makes a fault of an unexpected end.
    pub(super) fn new(
        rank: usize,
        stream: TcpStream,
        trouble: &Arc<Trouble>,
        gone: impl Fn(&str) -> Fault + Send + 'static,
    ) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        watched(&stream)?;
        let reader = stream.try_clone()?;
        let (sender, lines) = channel();
        let heard = Arc::clone(trouble);
        std::thread::Builder::new().name(format!("node {}", rank + 1)).spawn(move || {
            let mut reader = BufReader::new(reader);
            let fault = loop {
                match line(&mut reader) {
                    Ok(line) if line.starts_with(BYE) => return,
                    Ok(line) if line.starts_with(FAULT) => {
                        break serde_json::from_str(&line[1..]).unwrap_or_else(|_| gone("said what makes no sense"));
                    }
                    Ok(line) if line.starts_with(MESSAGE) => _ = sender.send(line[1..].to_owned()),
                    Ok(_) => break gone("said what makes no sense"),
                    Err(how) => break gone(how),
                }
            };
            heard.set(fault);
        })?;
        Ok(Self { rank, writer: Arc::new(Mutex::new(stream)), lines: Mutex::new(lines) })
    }

    pub(super) fn writer(&self) -> SharedStream {
        Arc::clone(&self.writer)
    }

    pub(super) fn say(&self, text: &str) {
        send(&self.writer, MESSAGE, &one_line(text));
    }

    pub(super) fn bye(&self) {
        send(&self.writer, BYE, "");
    }

    /// Waits for the next message of the other process, until `end` or a fault.
    pub(super) fn next(&self, end: Instant, trouble: &Trouble) -> Received {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match lines.recv_timeout(Duration::from_millis(20)) {
                Ok(line) => return Received::Line(line),
                Err(why) => {
                    if let Some(fault) = trouble.fault() {
                        return Received::Trouble(fault);
                    }
                    if why == RecvTimeoutError::Disconnected || Instant::now() > end {
                        return Received::Nothing;
                    }
                }
            }
        }
    }
}

/// Enables keep-alive probes every second, so that the system notices a cable that is cut.
fn watched(stream: &TcpStream) -> std::io::Result<()> {
    let second = Duration::from_secs(1);
    let asks = TcpKeepalive::new().with_time(second).with_interval(second).with_retries(SILENCE.as_secs() as u32);
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&asks)?;
    // Without this limit, the system would wait much longer for the acknowledgement of sent data.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(SILENCE))?;
    Ok(())
}

/// Reads one whole line, or returns how the connection ended.
fn line(reader: &mut impl BufRead) -> Result<String, &'static str> {
    let mut bytes = Vec::new();
    match reader.take(LONGEST).read_until(b'\n', &mut bytes) {
        Ok(0) => Err("has gone"),
        Ok(_) if bytes.pop() == Some(b'\n') => String::from_utf8(bytes).map_err(|_| "said what makes no sense"),
        Ok(_) => Err("has gone in the middle of a message"),
        Err(e) if e.kind() == ErrorKind::TimedOut => Err("does not answer: its machine or the network to it has gone"),
        Err(_) => Err("has gone: the connection is broken"),
    }
}

/// The first line of the first process, before a number that it uses once.
const CHALLENGE: &str = "mowgli challenges ";

/// The answer to the greeting of a process of the company. A proof that the first process knows the token follows, and the key of checksums.
const WELCOME: &str = "mowgli welcomes ";

/// Returns what only a process that knows the token can compute of a text (HMAC-SHA-256).
fn proof(place: &ProcessPlace, text: &str) -> String {
    let mut of_token = Hmac::<Sha256>::new_from_slice(place.token.as_bytes()).expect("any length");
    of_token.update(text.as_bytes());
    of_token.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads one line byte by byte, because the bytes behind it belong to the thread that reads the connection.
fn short_line(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') && line.len() < LONGEST_ANSWER {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned())
}

/// An attempt to reach the first process that failed.
pub(super) enum Unreached {
    /// Another attempt may succeed.
    NotYet(String),
    /// The first process refuses this one.
    Refused(Fault),
}

/// Connects to the first process, and sends a greeting with the rank of this one. Each proves to the other that it knows the token,
/// which another program does not that has the address of an earlier run. The answer is the key of checksums.
pub(super) fn reached(at: SocketAddr, place: &ProcessPlace) -> Result<(TcpStream, HashKey), Unreached> {
    let failed = |e: std::io::Error| Unreached::NotYet(format!("{at}: {e}"));
    let other = || Unreached::NotYet(format!("{at}: what listens there is not node 1, or has another token"));
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let challenge = short_line(&mut stream).map_err(failed)?;
    let once = challenge.strip_prefix(CHALLENGE).ok_or_else(other)?;
    let own = secret().map_err(Unreached::NotYet)?;
    let said = format!("{} {} {own} {VERSION}", place.rank, place.size);
    let greeting = format!("mowgli {} {said}\n", proof(place, &format!("greeting {once} {said}")));
    stream.write_all(greeting.as_bytes()).map_err(failed)?;
    let answer = short_line(&mut stream).map_err(failed)?;
    if let Some(fault) = answer.strip_prefix(FAULT).and_then(|fault| serde_json::from_str(fault).ok()) {
        return Err(Unreached::Refused(fault));
    }
    let (proven, key) = answer.strip_prefix(WELCOME).and_then(|text| text.split_once(' ')).ok_or_else(other)?;
    let is_first = proven == proof(place, &format!("welcome {own} {key}"));
    let key = serde_json::from_str(key).ok().filter(|_| is_first).ok_or_else(other)?;
    Ok((stream, key))
}

/// The longest answer to a greeting, in bytes. A refusal has a sentence or two.
const LONGEST_ANSWER: usize = 2000;

/// The longest greeting, in bytes.
const LONGEST_GREETING: usize = 300;

/// The time that a connection has for its greeting.
const MANNERS: Duration = Duration::from_secs(1);

/// The largest number of connections that wait for their greetings. The oldest makes room for another one.
const STRANGERS: usize = 64;

/// A process that has connected and sent its greeting.
pub(super) struct Guest {
    pub(super) rank: usize,
    /// The number of processes in its greeting.
    pub(super) size: usize,
    /// The version in its greeting.
    pub(super) version: String,
    /// The number in its greeting, which it uses once.
    once: String,
    pub(super) stream: TcpStream,
}

impl Guest {
    /// Accepts the process, and sends it the key of checksums.
    pub(super) fn welcome(&mut self, place: &ProcessPlace, key: HashKey) -> std::io::Result<()> {
        let key = serde_json::to_string(&key).expect("numbers");
        let proof = proof(place, &format!("welcome {} {key}", self.once));
        self.stream.write_all(format!("{WELCOME}{proof} {key}\n").as_bytes())
    }

    /// Sends the reason for the refusal, and waits a moment until the process has closed the connection. Closing a
    /// connection that has unread input would lose what was sent.
    pub(super) fn refuse(&mut self, fault: &Fault) {
        let reported = refused(&mut self.stream, fault).and_then(|()| self.stream.shutdown(Shutdown::Write));
        _ = reported.and_then(|()| std::io::copy(&mut self.stream, &mut std::io::sink()));
    }
}

/// Sends the reason for a refusal.
fn refused(stream: &mut TcpStream, fault: &Fault) -> std::io::Result<()> {
    stream.write_all(format!("{FAULT}{}\n", as_text(fault)).as_bytes())
}

/// Makes the fault of a process of this rank that has another token than the first one.
pub(super) fn other_token(rank: usize) -> Fault {
    Fault::Wrong(format!(
        "what says that it is node {} has another token than node 1; set MOWGLI_TOKEN to the same secret for all processes",
        rank + 1
    ))
}

/// A new connection, the time since which it is there, and the number that it has to use in its greeting.
type Stranger = (TcpStream, Instant, String);

/// New connections whose greetings are not known yet. They are read as far as their bytes are there, so none delays
/// another one.
#[derive(Default)]
pub(super) struct Strangers {
    silent: VecDeque<Stranger>,
    /// The fault of the last process with another token.
    pub(super) refused: Option<Fault>,
}

impl Strangers {
    /// Adds a connection.
    pub(super) fn add(&mut self, mut stream: TcpStream) {
        let Ok(once) = secret() else { return };
        let challenge = format!("{CHALLENGE}{once}\n");
        if stream.set_nonblocking(true).and_then(|()| stream.write_all(challenge.as_bytes())).is_err() {
            return;
        }
        if self.silent.len() == STRANGERS {
            self.silent.pop_front();
        }
        self.silent.push_back((stream, Instant::now(), once));
    }

    /// Returns the processes of this company whose greetings have come. Connections of others are closed.
    pub(super) fn guests(&mut self, place: &ProcessPlace) -> Vec<Guest> {
        let mut guests = Vec::new();
        for (stream, since, once) in std::mem::take(&mut self.silent) {
            let mut said = [0; LONGEST_GREETING];
            // The greeting stays in the connection until all of it is there.
            match stream.peek(&mut said) {
                Ok(length) => match said[..length].iter().position(|byte| *byte == b'\n') {
                    Some(end) => match guest(stream, &said[..end], &once, place) {
                        Ok(guest) => guests.extend(guest),
                        Err(fault) => self.refused = Some(fault),
                    },
                    None if 0 < length && length < LONGEST_GREETING => self.keep((stream, since, once)),
                    None => {}
                },
                Err(e) if e.kind() == ErrorKind::WouldBlock => self.keep((stream, since, once)),
                Err(_) => {}
            }
        }
        guests
    }

    fn keep(&mut self, stranger: Stranger) {
        if stranger.1.elapsed() < MANNERS {
            self.silent.push_back(stranger);
        }
    }
}

/// Takes the greeting out of a connection. Returns nothing if it does not come from a process of a company.
///
/// # Errors
/// If it comes from one with another token. That one receives the error, too.
fn guest(mut stream: TcpStream, said: &[u8], once: &str, place: &ProcessPlace) -> Result<Option<Guest>, Fault> {
    let Some((proven, rank, size, own, version)) = std::str::from_utf8(said).ok().and_then(greeting) else {
        return Ok(None);
    };
    let mut answerable = || {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(MANNERS))?;
        stream.set_write_timeout(Some(MANNERS))?;
        stream.read_exact(&mut vec![0; said.len() + 1])
    };
    if answerable().is_err() {
        return Ok(None);
    }
    if proven != proof(place, &format!("greeting {once} {rank} {size} {own} {version}")) {
        let fault = other_token(rank);
        _ = refused(&mut stream, &fault);
        return Err(fault);
    }
    Ok(Some(Guest { rank, size, version: version.to_owned(), once: own.to_owned(), stream }))
}

/// Returns the parts of a greeting: its proof, rank, number of processes, a number that is used once, and version.
fn greeting(said: &str) -> Option<(&str, usize, usize, &str, &str)> {
    let ["mowgli", proven, rank, size, once, version] = said.split(' ').collect::<Vec<_>>()[..] else { return None };
    // The number of a node is one more than its rank, so the greatest rank is no rank.
    let rank = rank.parse().ok().filter(|&rank| rank != usize::MAX)?;
    Some((proven, rank, size.parse().ok()?, once, version))
}
