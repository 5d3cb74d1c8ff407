//! The playground: what it answers, what it refuses, and that a test that needs too much does not take it down.

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

struct Served {
    child: Child,
    port: u16,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn served(more: &[&str]) -> Served {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mowgli"))
        .args([&["serve", "--port", "0"], more].concat())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("the address");
    let port = line.trim().rsplit(':').next().and_then(|p| p.parse().ok()).expect("a port");
    Served { child, port }
}

impl Served {
    /// The answer to a request, its head too.
    fn ask(&self, method: &str, path: &str, host: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        // A request that is refused may be answered before it is read to the end.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn solve(&self, test: &str) -> String {
        self.ask("POST", "/solve", &format!("localhost:{}", self.port), test)
    }
}

const TEST: &str = "RDMA_TSO t { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n x := 1 ;\nallowed (z=1)\n";

#[test]
fn tests_are_solved_and_bad_ones_are_told_what_is_wrong() {
    let served = served(&[]);
    let page = served.ask("GET", "/", &format!("127.0.0.1:{}", served.port), "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("\"playground\":true"), "{page}");
    let solved = served.solve(TEST);
    assert!(solved.contains("\"holds\":true") && solved.contains("\"graph\":{"), "{solved}");
    let stuck = served.solve(
        "RDMA_WAIT t { x@1 = 0; z@2 = 0; barrier b = {P1, P2}; }\n P1@1 | P2@1 ;\n wait(d) | ;\n bar(b) | ;\nforbidden (x=1)\n",
    );
    assert!(stuck.contains("\"vacuous\":true") && stuck.contains("this waits for nothing"), "{stuck}");
    let bad = served.solve("RDMA_TSO t { x@1 = 0; }\n P1@1 ;\n put(y, x) ;\n");
    assert!(bad.contains("y is not declared"), "{bad}");
    assert!(served.solve("").contains("errors\":[\""));
    assert!(served.solve(&"x".repeat(70_000)).contains("at most 65536 bytes"));
    assert!(served.ask("GET", "/etc/passwd", &format!("localhost:{}", served.port), "").starts_with("HTTP/1.1 404"));
    assert!(served.ask("GET", "/", "example.org", "").starts_with("HTTP/1.1 403"));
    assert!(served.solve(TEST).contains("\"holds\":true"), "it still answers");
}

#[test]
fn a_test_that_needs_too_much_is_stopped() {
    let served = served(&["--timeout", "1", "--memory", "512"]);
    // Nine threads, each of which updates and reads one word again and again.
    let heads = (1..=9).map(|t| format!("P{t}@1")).collect::<Vec<_>>().join(" | ");
    let row = |r: usize| (1..=9).map(|t| format!("a{t}{r} := cas(x, {r}, {t})")).collect::<Vec<_>>().join(" | ");
    let rows: String = (0..6).map(|r| format!(" {} ;\n", row(r))).collect();
    let large = format!("RDMA_WAIT large {{ x@1 = 0; }}\n {heads} ;\n{rows}allowed (x=1)\n");
    let answer = served.solve(&large);
    assert!(answer.contains("time limit") || answer.contains("this test needs more than"), "{answer}");
    assert!(served.solve(TEST).contains("\"holds\":true"), "it still answers");
}

#[test]
fn the_page_solves_what_it_shows() {
    let Some(browser) = common::browser() else { return };
    let served = served(&[]);
    let folder = tempfile::tempdir().unwrap();
    let dom = common::seen(browser, folder.path(), &format!("http://localhost:{}/", served.port));
    assert!(dom.contains("<span class=\"good\">Ok</span> allowed (z=1)"), "{dom}");
}
