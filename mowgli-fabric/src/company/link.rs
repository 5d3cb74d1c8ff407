//! A connection between two processes: lines, and how it ends.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use socket2::{SockRef, TcpKeepalive};

use super::place::Place;
use crate::port::Fault;

/// The version that the greeting carries, because processes of two versions may place their words and read their messages differently.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long nothing may come of a connection, not even that the other machine is there, before it counts as cut.
const SILENCE: Duration = Duration::from_secs(5);

/// How long a stranger may take to say who it is, and a line to be taken.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest line, in bytes.
const LONGEST: u64 = 1 << 28;

/// What begins a line: a message, a fault, or the end.
const MESSAGE: char = '=';
const FAULT: char = '!';
const BYE: char = '.';

type Writer = Arc<Mutex<TcpStream>>;

/// What has gone wrong, here or elsewhere. It is said once, to all.
#[derive(Default)]
pub(super) struct Trouble {
    is_there: AtomicBool,
    said: Mutex<(Option<Fault>, Vec<Writer>)>,
}

impl Trouble {
    pub(super) fn fault(&self) -> Option<Fault> {
        if !self.is_there.load(Ordering::Relaxed) {
            return None;
        }
        self.said.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Takes note of a fault, and tells others.
    pub(super) fn set(&self, fault: Fault) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.0.is_some() {
            return;
        }
        let text = as_text(&fault);
        said.1.iter().for_each(|writer| send(writer, FAULT, &text));
        said.0 = Some(fault);
        self.is_there.store(true, Ordering::Relaxed);
    }

    /// Tells this one too.
    pub(super) fn tell(&self, writer: Writer) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).1.push(writer);
    }
}

fn as_text(fault: &Fault) -> String {
    serde_json::to_string(fault).expect("a name and a string")
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn send(writer: &Writer, kind: char, text: &str) {
    let line = format!("{kind}{text}\n");
    // Who does not hear it has gone, and that is heard by the one who reads.
    _ = writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
}

/// A connection to the process of a rank.
pub(super) struct Link {
    pub(super) rank: usize,
    writer: Writer,
    lines: Mutex<Receiver<String>>,
}

/// What is heard on a connection.
pub(super) enum Heard {
    Line(String),
    Nothing,
    Trouble(Fault),
}

impl Link {
    /// A connection; `gone` says how it ended if it did so without a word.
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

    pub(super) fn writer(&self) -> Writer {
        Arc::clone(&self.writer)
    }

    pub(super) fn say(&self, text: &str) {
        send(&self.writer, MESSAGE, &one_line(text));
    }

    pub(super) fn bye(&self) {
        send(&self.writer, BYE, "");
    }

    /// The next line that the other one says.
    pub(super) fn next(&self, end: Instant, trouble: &Trouble) -> Heard {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match lines.recv_timeout(Duration::from_millis(20)) {
                Ok(line) => return Heard::Line(line),
                Err(why) => {
                    if let Some(fault) = trouble.fault() {
                        return Heard::Trouble(fault);
                    }
                    if why == RecvTimeoutError::Disconnected || Instant::now() > end {
                        return Heard::Nothing;
                    }
                }
            }
        }
    }
}

/// Lets the system ask the other machine every second whether it is there, so that a cable that is cut is noticed.
fn watched(stream: &TcpStream) -> std::io::Result<()> {
    let second = Duration::from_secs(1);
    let asks = TcpKeepalive::new().with_time(second).with_interval(second).with_retries(SILENCE.as_secs() as u32);
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&asks)?;
    // What was sent and is not acknowledged would be waited for much longer.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(SILENCE))?;
    Ok(())
}

/// One whole line, or how the connection ended.
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

/// A connection to the first process, to which this one says who it is.
pub(super) fn reached(at: SocketAddr, place: &Place) -> Result<TcpStream, String> {
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE).map_err(|e| format!("{at}: {e}"))?;
    let greeting = format!("mowgli {} {} {} {VERSION}\n", place.rank, place.size, place.token);
    stream.write_all(greeting.as_bytes()).map_err(|e| format!("{at}: {e}"))?;
    Ok(stream)
}

/// A process that has come.
pub(super) struct Guest {
    pub(super) rank: usize,
    /// The version that it is built with. Earlier ones do not say theirs.
    pub(super) version: Option<String>,
    pub(super) stream: TcpStream,
}

impl Guest {
    /// Tells it why it is sent away, and waits until it has gone: a connection that is closed with something unread loses what was sent.
    pub(super) fn refuse(&mut self, fault: &Fault) {
        let line = format!("{FAULT}{}\n", as_text(fault));
        let told = self.stream.write_all(line.as_bytes()).and_then(|()| self.stream.shutdown(Shutdown::Write));
        _ = told.and_then(|()| std::io::copy(&mut self.stream, &mut std::io::sink()));
    }
}

/// Who somebody is that has come, if it belongs to this company.
pub(super) fn greeted(stream: TcpStream, place: &Place) -> Option<Guest> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    // Byte by byte: what comes after the greeting is for others to read.
    let mut said = Vec::new();
    while said.last() != Some(&b'\n') && said.len() < 100 {
        let mut byte = [0];
        (&stream).read_exact(&mut byte).ok()?;
        said.push(byte[0]);
    }
    let said = String::from_utf8(said).ok()?;
    let parts: Vec<&str> = said.trim_end_matches('\n').split(' ').collect();
    let (rank, size, token, version) = match parts[..] {
        ["mowgli", rank, size, token] => (rank, size, token, None),
        ["mowgli", rank, size, token, version] => (rank, size, token, Some(version.to_owned())),
        _ => return None,
    };
    let rank = rank.parse::<usize>().ok().filter(|rank| (1..place.size).contains(rank))?;
    (size.parse() == Ok(place.size) && token == place.token).then_some(Guest { rank, version, stream })
}
