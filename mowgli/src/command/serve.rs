//! The `serve` command: a page on which users edit and solve a litmus test.
//!
//! A process of its own solves each test, with bounds on time and memory, so that no input can take the server down.

mod http;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use mowgli_core::problem::Limits;

use self::http::Request;
use super::network::{On, on};
use crate::catalogue::Catalogue;
use crate::diagnostic::{Colours, drawn};
use crate::error::{Code, InputError};
use crate::interrupt::Deadline;
use crate::litmus::parse::parse_in;
use crate::litmus::x86;
use crate::report::{Drawn, Page, Playground, TestRow};

/// The longest test that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The time between two checks of a process that solves a test, and of the browser that waits for it.
const PAUSE: Duration = Duration::from_millis(10);

/// The bounds on one test, and its network.
#[derive(Args, Clone, Copy)]
struct Bounds {
    /// Seconds for one test.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(0..=600))]
    timeout: u64,
    /// Memory for one test, in MiB.
    #[arg(long, default_value_t = 2048, value_name = "M", value_parser = clap::value_parser!(u64).range(64..))]
    memory: u64,
    #[command(flatten)]
    on: On,
}

#[derive(Args)]
#[command(after_help = "Example:\n  mowgli serve --port 7373    and open http://localhost:7373")]
pub(super) struct ServeArgs {
    /// The port, on the loopback address: other machines cannot reach it.
    #[arg(long, default_value_t = 7373, value_name = "P")]
    port: u16,
    #[command(flatten)]
    bounds: Bounds,
}

/// A question about a test, beside its outcomes.
#[derive(Args, Clone, Default)]
struct ServeQuestion {
    /// Find the least to insert, too.
    #[arg(long)]
    repair: bool,
    /// Draw an execution with the outcome that has this number.
    #[arg(long)]
    draw: Option<usize>,
    /// Run these libraries by their implementations: bal:no-fence,sv.
    #[arg(long, value_delimiter = ',')]
    implemented: Vec<String>,
}

impl ServeQuestion {
    /// Parses the path and the query of a request; `None` if the server has nothing at this path.
    fn of(request: &Request) -> Option<Self> {
        let names = request.query.strip_prefix("implemented=").unwrap_or_default();
        let implemented = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let plain = Self { repair: false, draw: None, implemented };
        match request.path.as_str() {
            "/solve" => Some(plain),
            "/repair" => Some(Self { repair: true, ..plain }),
            path => Some(Self { draw: Some(path.strip_prefix("/draw/")?.parse().ok()?), ..plain }),
        }
    }

    /// Returns the same request as command-line arguments.
    fn args(&self) -> Vec<String> {
        let repair = self.repair.then(|| "--repair".to_owned());
        let draw = self.draw.map(|outcome| format!("--draw={outcome}"));
        let names = self.implemented.join(",");
        let implemented = (!names.is_empty()).then(|| format!("--implemented={names}"));
        repair.into_iter().chain(draw).chain(implemented).collect()
    }
}

#[derive(Args)]
pub(super) struct SolveArgs {
    #[command(flatten)]
    asked: ServeQuestion,
    #[command(flatten)]
    bounds: Bounds,
}

/// Serves until it is stopped.
pub(super) fn serve(args: &ServeArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    let playground = Playground::new(catalogue, args.bounds.timeout);
    let elsewhere = args.bounds.on.network.map(|network| format!(" on {network}")).unwrap_or_default();
    let page =
        Page { title: format!("Mowgli: a litmus test{elsewhere}"), playground: Some(playground), ..Page::default() };
    let page: Arc<str> = page.html().into();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = TcpListener::bind(address).map_err(|e| {
        InputError::new(Code::Argument, format!("port {}: {e}", args.port)).help("choose another with --port")
    })?;
    let port = listener.local_addr().map_or(args.port, |a| a.port());
    // Flushes, because a reader may wait for the address.
    println!("http://localhost:{port}");
    std::io::stdout().flush().map_err(system)?;
    let bounds = args.bounds;
    loop {
        let Ok((mut stream, _)) = listener.accept() else {
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let page = Arc::clone(&page);
        // If the system has no thread for a connection, the connection is closed.
        let _ = thread::Builder::new().spawn(move || {
            if let Some(request) = http::read(&mut stream, LONGEST) {
                answer(&mut stream, &request, port, bounds, &page);
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

/// Answers a request.
fn answer(stream: &mut TcpStream, request: &Request, port: u16, bounds: Bounds, page: &str) {
    if !is_local(request, port) {
        return http::write(stream, "403 Forbidden", "text/plain", b"for this machine only");
    }
    match (request.method.as_str(), request.path.as_str(), ServeQuestion::of(request)) {
        ("GET", "/", _) => http::write(stream, "200 OK", "text/html; charset=utf-8", page.as_bytes()),
        ("POST", _, Some(asked)) => {
            let page = solved(stream, request, &asked, bounds).unwrap_or_else(|e| failed(&e.to_string()));
            http::write(stream, "200 OK", "application/json", page.as_bytes());
        }
        _ => http::write(stream, "404 Not Found", "text/plain", b"there is only one page"),
    }
}

/// Solves the test in a request, and returns the page's data as JSON.
fn solved(stream: &TcpStream, request: &Request, asked: &ServeQuestion, bounds: Bounds) -> Result<String, InputError> {
    let test = request
        .body
        .as_deref()
        .ok_or_else(|| InputError::new(Code::Argument, format!("a test has at most {LONGEST} bytes")))?;
    solved_apart(stream, test, asked, bounds)
}

/// Returns the error for a service that the system refuses.
fn system(error: std::io::Error) -> InputError {
    InputError::of(Code::Tool, error)
}

fn failed(message: &str) -> String {
    let page = Page { errors: vec![message.to_owned()], ..Page::default() };
    serde_json::to_string(&page).expect("strings")
}

/// Solves a test in a process of its own, and kills it when nobody waits for the answer any more.
fn solved_apart(stream: &TcpStream, text: &[u8], asked: &ServeQuestion, bounds: Bounds) -> Result<String, InputError> {
    let own = std::env::current_exe().map_err(system)?;
    let (timeout, memory) = (bounds.timeout.to_string(), bounds.memory.to_string());
    let network = bounds.on.network.map(|network| format!("--network={network}"));
    let mut child = Command::new(own)
        .args(["solve-for-page", "--timeout", &timeout, "--memory", &memory])
        .args(network)
        .args(asked.args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(system)?;
    let (mut stdin, mut stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    thread::scope(|scope| {
        // Each pipe has a thread of its own, because the child may write before it has read all, and a pipe holds
        // little.
        scope.spawn(move || stdin.write_all(text));
        let output = scope.spawn(move || {
            let mut output = String::new();
            stdout.read_to_string(&mut output).map(|_| output)
        });
        // The child's own limit comes first. This one is for work that does not check the clock.
        let status = ended(&mut child, Duration::from_secs(bounds.timeout + 2), || http::is_closed(stream));
        let status = status?.ok_or_else(|| {
            InputError::new(Code::Argument, format!("this test needs more than {} s", bounds.timeout))
        })?;
        if !status.success() {
            return Err(InputError::new(
                Code::Argument,
                format!("this test needs more than {} MiB, or Mowgli failed", bounds.memory),
            ));
        }
        output.join().expect("reads only").map_err(system)
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

/// Runs as the child of [`solved_apart`]: reads a test, and prints the page's data about it.
pub(super) fn solve_for_page(args: &SolveArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    let bytes = args.bounds.memory * 1024 * 1024;
    #[cfg(target_os = "linux")]
    rlimit::setrlimit(rlimit::Resource::AS, bytes, bytes).map_err(system)?;
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(system)?;
    let deadline = Deadline::after(Some(args.bounds.timeout));
    let expired = || deadline.expired();
    let moved = on(Path::new("the test"), &text, args.bounds.on.network);
    let page = match moved.and_then(|moved| parse_in(catalogue, "the test", &moved).map(|test| (test, moved))) {
        Ok((test, text)) => {
            let limits = Limits { expired: &expired, ..Limits::default() };
            let row =
                TestRow::new(catalogue, &test, &text, &args.asked.implemented, Drawn::Only(args.asked.draw), limits);
            match row {
                Ok(row) if args.asked.repair => {
                    let row = row.with_repair(&test, &args.asked.implemented, limits);
                    Page { tests: vec![row], ..Page::default() }
                }
                Ok(row) => Page { tests: vec![row], ..Page::default() },
                Err(error) => Page { errors: vec![drawn(&error, Colours::None)], ..Page::default() },
            }
        }
        Err(error) => {
            let offer = x86::from_herd("the test", &text).ok().filter(|_| text.trim_start().starts_with("X86"));
            Page { errors: vec![drawn(&error, Colours::None)], offer, ..Page::default() }
        }
    };
    println!("{}", serde_json::to_string(&page).expect("strings and numbers"));
    Ok(0)
}
