//! A server of the playground: a page on which users edit and solve a litmus test.
//!
//! A process of its own solves each test, with bounds on time and memory, so that no input can take the server down.

mod http;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use self::http::Request;
use crate::args::network::On;
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::question::answered;
use crate::report::{EDITOR, Page, Playground};

/// The longest test that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The time between two checks of a process that solves a test, and of the browser that waits for it.
const PAUSE: Duration = Duration::from_millis(10);

/// The bounds on one test, and its network.
#[derive(Args, Clone, Copy)]
pub(crate) struct Bounds {
    /// The steps for one test, in seconds that they usually take. Ten times as many seconds cancel it.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(0..=600))]
    pub(crate) timeout: u64,
    /// Memory for one test, in MiB.
    #[arg(long, default_value_t = 2048, value_name = "M", value_parser = clap::value_parser!(u64).range(64..))]
    pub(crate) memory: u64,
    #[command(flatten)]
    pub(crate) on: On,
}

/// Serves at a port of this machine until it is stopped, so many tests at once. `address` is a public one of the playground.
pub(crate) fn serve(
    port: u16,
    jobs: u8,
    address: Option<String>,
    bounds: Bounds,
    catalogue: &Catalogue,
) -> Result<u8, InputError> {
    let playground = Playground::new(catalogue, bounds.timeout, address);
    let elsewhere = bounds.on.network.map(|network| format!(" on {network}")).unwrap_or_default();
    let page =
        Page { title: format!("Mowgli: a litmus test{elsewhere}"), playground: Some(playground), ..Page::default() };
    let page: Arc<str> = page.html().into();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = TcpListener::bind(address)
        .map_err(|e| InputError::new(Code::Argument, format!("port {port}: {e}")).help("choose another with --port"))?;
    let port = listener.local_addr().map_or(port, |a| a.port());
    // Flushes, because a reader may wait for the address.
    println!("http://localhost:{port}");
    std::io::stdout().flush().map_err(system)?;
    let slots = Arc::new(Slots::new(jobs));
    loop {
        let Ok((mut stream, _)) = listener.accept() else {
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let (page, slots) = (Arc::clone(&page), Arc::clone(&slots));
        // If the system has no thread for a connection, the connection is closed.
        let _ = thread::Builder::new().spawn(move || {
            if let Some(request) = http::read(&mut stream, LONGEST) {
                answer(&mut stream, &request, port, (bounds, &slots), &page);
            }
        });
    }
}

/// True if a request names this machine and comes from the server's own page. A page of another site sends its own
/// origin, so it is rejected.
fn is_local(request: &Request, port: u16) -> bool {
    let own = [format!("localhost:{port}"), format!("127.0.0.1:{port}")];
    let (host, origin) = (request.host.as_ref(), request.origin.as_ref());
    host.is_some_and(|host| own.contains(host))
        && origin.is_none_or(|origin| own.iter().any(|own| *origin == format!("http://{own}")))
}

/// The tests that may be solved at once.
struct Slots {
    free: Mutex<u8>,
}

/// A test that is being solved; its slot is free again when this is dropped.
struct SolverSlot<'a>(&'a Slots);

impl Slots {
    fn new(all: u8) -> Self {
        Self { free: Mutex::new(all) }
    }

    /// Waits for a free slot; `None` if the client goes before.
    fn take(&self, stream: &TcpStream) -> Option<SolverSlot<'_>> {
        while !http::is_closed(stream) {
            let mut free = self.free.lock().expect("no thread panics with the lock");
            if *free > 0 {
                *free -= 1;
                return Some(SolverSlot(self));
            }
            drop(free);
            thread::sleep(PAUSE);
        }
        None
    }
}

impl Drop for SolverSlot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().expect("no thread panics with the lock") += 1;
    }
}

/// Answers a request.
fn answer(stream: &mut TcpStream, request: &Request, port: u16, asked: (Bounds, &Slots), page: &str) {
    if !is_local(request, port) {
        return http::write(stream, "403 Forbidden", "text/plain", b"for this machine only");
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/") => http::write(stream, "200 OK", "text/html; charset=utf-8", page.as_bytes()),
        ("GET", "/editor.js") => http::write(stream, "200 OK", "text/javascript", EDITOR.as_bytes()),
        ("POST", "/answer") => {
            let Some(_slot) = asked.1.take(stream) else { return };
            http::begin(stream, "200 OK", "application/x-ndjson", "");
            solved(stream, request, asked.0).unwrap_or_else(|e| http::line(stream, &failed(&e.to_string())));
        }
        _ => http::write(stream, "404 Not Found", "text/plain", b"there is only one page"),
    }
}

/// Answers the question in a request by pages as JSON, each in a line. The last is the answer; those before it have outcomes
/// that the search finds while it runs.
fn solved(stream: &TcpStream, request: &Request, bounds: Bounds) -> Result<(), InputError> {
    let question = request
        .body
        .as_deref()
        .ok_or_else(|| InputError::new(Code::Argument, format!("a test has at most {LONGEST} bytes")))?;
    solved_apart(stream, question, bounds)
}

/// Returns the error for a service that the system refuses.
fn system(error: std::io::Error) -> InputError {
    InputError::of(Code::Tool, error)
}

fn failed(message: &str) -> String {
    Page { errors: vec![message.to_owned()], ..Page::default() }.json()
}

/// Solves a test in a process of its own, and kills it when nobody waits for the answer any more.
fn solved_apart(stream: &TcpStream, question: &[u8], bounds: Bounds) -> Result<(), InputError> {
    let own = std::env::current_exe().map_err(system)?;
    let (timeout, memory) = (bounds.timeout.to_string(), bounds.memory.to_string());
    let network = bounds.on.network.map(|network| format!("--network={network}"));
    let mut child = Command::new(own)
        .args(["solve-for-page", "--timeout", &timeout, "--memory", &memory])
        .args(network)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(system)?;
    let (mut stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let (print, printed) = mpsc::channel();
    thread::scope(|scope| {
        // Each pipe has a thread of its own, because the child may write before it has read all, and a pipe holds
        // little.
        scope.spawn(move || stdin.write_all(question));
        // A child that is killed may leave a part of a line, which counts for nothing.
        scope.spawn(move || {
            let (mut stdout, mut line) = (BufReader::new(stdout), String::new());
            while stdout.read_line(&mut line).is_ok() && line.ends_with('\n') {
                let _ = print.send(std::mem::take(&mut line));
            }
        });
        let relay = || printed.try_iter().for_each(|line| http::line(stream, line.trim_end()));
        // The child's own limit comes first. This one is for work that does not check the clock.
        let status = ended(&mut child, Duration::from_secs(10 * bounds.timeout + 2), || {
            relay();
            http::is_closed(stream)
        });
        let status = status?.ok_or_else(|| {
            InputError::new(Code::Argument, format!("this test needs more than {} s", 10 * bounds.timeout))
        })?;
        if !status.success() {
            return Err(InputError::new(
                Code::Argument,
                format!("this test needs more than {} MiB, or Mowgli failed", bounds.memory),
            ));
        }
        printed.iter().for_each(|line| http::line(stream, line.trim_end()));
        Ok(())
    })
}

/// Waits for a child until a limit, or until it is `unwanted`. Then it kills the child and returns `None`.
fn ended(child: &mut Child, limit: Duration, unwanted: impl Fn() -> bool) -> Result<Option<ExitStatus>, InputError> {
    let begin = Instant::now();
    loop {
        match child.try_wait().map_err(system) {
            Ok(None) if begin.elapsed() < limit && !unwanted() => thread::sleep(PAUSE),
            Ok(None) => {
                let _ = child.kill().and_then(|()| child.wait());
                return Ok(None);
            }
            ended => return ended,
        }
    }
}

/// Runs as the child of [`solved_apart`]: reads a question, and prints the page's data about it.
pub(crate) fn solve_for_page(bounds: Bounds, catalogue: &Catalogue) -> Result<u8, InputError> {
    let bytes = bounds.memory * 1024 * 1024;
    #[cfg(target_os = "linux")]
    rlimit::setrlimit(rlimit::Resource::AS, bytes, bytes).map_err(system)?;
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(system)?;
    let begin = Instant::now();
    let now = || 1000.0 * begin.elapsed().as_secs_f64();
    let send = |page: &str| println!("{page}");
    let (network, seconds) = (bounds.on.network, bounds.timeout as f64);
    send(&answered(&text, catalogue, network, seconds, &now, &send));
    Ok(0)
}
