//! The `serve` command: a page on which a litmus test is edited and solved.
//!
//! Each test is solved by a process of its own, with bounds on time and memory, so that no input can take the server down.

use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;

use crate::catalogue::Catalogue;
use crate::interrupt::Deadline;
use crate::litmus::parse::parse_in;
use crate::litmus::x86;
use crate::report::{Drawn, Page, Playground, TestRow};
use clap::Args;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use mowgli_core::problem::Limits;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;

/// The longest test that is read, in bytes.
const LONGEST: usize = 64 * 1024;

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
    /// The port, on the loopback address: other machines cannot reach it.
    #[arg(long, default_value_t = 7373, value_name = "P")]
    port: u16,
    #[command(flatten)]
    bounds: Bounds,
}

/// What is asked of a test, beside its outcomes.
#[derive(Args, Clone, Default)]
struct Asked {
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

impl Asked {
    /// What a request asks, by its path and what follows `?implemented=`; `None` if there is nothing there.
    fn of(uri: &Uri) -> Option<Self> {
        let names = uri.query().and_then(|query| query.strip_prefix("implemented=")).unwrap_or_default();
        let implemented = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let plain = Self { repair: false, draw: None, implemented };
        match uri.path() {
            "/solve" => Some(plain),
            "/repair" => Some(Self { repair: true, ..plain }),
            path => Some(Self { draw: Some(path.strip_prefix("/draw/")?.parse().ok()?), ..plain }),
        }
    }

    /// The same as arguments.
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
    asked: Asked,
    #[command(flatten)]
    bounds: Bounds,
}

/// Serves until it is stopped.
pub(super) fn serve(args: &ServeArgs, catalogue: &Catalogue) -> Result<u8, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let playground = Playground::new(catalogue, args.bounds.timeout);
    let page = Page { title: "Mowgli: a litmus test".to_owned(), playground: Some(playground), ..Page::default() };
    runtime.block_on(serving(args, page.html().into()))
}

async fn serving(args: &ServeArgs, page: Bytes) -> Result<u8, String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener =
        TcpListener::bind(address).await.map_err(|e| format!("port {}: {e}; choose another with --port", args.port))?;
    let port = listener.local_addr().map_or(args.port, |a| a.port());
    // A reader that waits for the address gets it at once.
    println!("http://localhost:{port}");
    std::io::stdout().flush().map_err(|e| e.to_string())?;
    let bounds = args.bounds;
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let page = page.clone();
        let answers = service_fn(move |request| answer(request, port, bounds, page.clone()));
        tokio::spawn(async move {
            // A browser that has gone needs no answer.
            let _ =
                http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), answers).await;
        });
    }
}

type Answer = Response<Full<Bytes>>;

fn typed(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Whether a request is for this machine by name and of no other site's page: that cannot ask under its own.
fn is_local(request: &Request<Incoming>, port: u16) -> bool {
    let own = [format!("localhost:{port}"), format!("127.0.0.1:{port}")];
    let (host, origin) = (request.headers().get(HOST), request.headers().get(ORIGIN));
    host.is_some_and(|host| own.iter().any(|own| host == own))
        && origin.is_none_or(|origin| own.iter().any(|own| *origin == format!("http://{own}")))
}

async fn answer(request: Request<Incoming>, port: u16, bounds: Bounds, page: Bytes) -> Result<Answer, Infallible> {
    if !is_local(&request, port) {
        return Ok(typed(StatusCode::FORBIDDEN, "text/plain", "for this machine only"));
    }
    Ok(match (request.method(), request.uri().path(), Asked::of(request.uri())) {
        (&Method::GET, "/", _) => typed(StatusCode::OK, "text/html; charset=utf-8", page),
        (&Method::POST, _, Some(asked)) => {
            let page = solved(request, asked, bounds).await.unwrap_or_else(|e| failed(&e));
            typed(StatusCode::OK, "application/json", page)
        }
        _ => typed(StatusCode::NOT_FOUND, "text/plain", "there is only one page"),
    })
}

/// What the page shows of the test that a request has.
async fn solved(request: Request<Incoming>, asked: Asked, bounds: Bounds) -> Result<String, String> {
    let body = Limited::new(request.into_body(), LONGEST).collect().await.map_err(|e| match e.downcast_ref() {
        Some(LengthLimitError { .. }) => format!("a test has at most {LONGEST} bytes"),
        None => e.to_string(),
    })?;
    solved_apart(&body.to_bytes(), asked, bounds).await
}

fn failed(message: &str) -> String {
    let page = Page { errors: vec![message.to_owned()], ..Page::default() };
    serde_json::to_string(&page).expect("strings")
}

/// Solves a test in a process of its own. It is killed where nobody waits for the answer any more.
async fn solved_apart(text: &[u8], asked: Asked, bounds: Bounds) -> Result<String, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let (timeout, memory) = (bounds.timeout.to_string(), bounds.memory.to_string());
    let mut child = Command::new(own)
        .args(["solve-for-page", "--timeout", &timeout, "--memory", &memory])
        .args(asked.args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| e.to_string())?;
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(text).await.map_err(|e| e.to_string())?;
    drop(stdin);
    // Its own limit comes first; this is for work between two looks at the clock.
    let limit = Duration::from_secs(bounds.timeout + 2);
    let ended = tokio::time::timeout(limit, child.wait_with_output()).await;
    let output = ended.map_err(|_| format!("this test needs more than {} s", bounds.timeout))?;
    let output = output.map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!("this test needs more than {} MiB, or Mowgli failed", bounds.memory));
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
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
            let limits = Limits { expired: &expired, ..Limits::default() };
            let row =
                TestRow::new(catalogue, &test, &text, &args.asked.implemented, Drawn::Only(args.asked.draw), limits);
            match row {
                Ok(row) if args.asked.repair => Page { tests: vec![row.with_repair(&test, limits)], ..Page::default() },
                Ok(row) => Page { tests: vec![row], ..Page::default() },
                Err(message) => Page { errors: vec![message], ..Page::default() },
            }
        }
        Err(message) => {
            let offer = x86::from_herd("the test", &text).ok().filter(|_| text.trim_start().starts_with("X86"));
            Page { errors: vec![message], offer, ..Page::default() }
        }
    };
    println!("{}", serde_json::to_string(&page).expect("strings and numbers"));
    Ok(0)
}
