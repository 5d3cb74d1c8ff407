//! The playground: its answers, and its refusals. A test that needs too much does not take it down.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::json;

use crate::served::{Served, served};

use crate::ask::ask;

fn solve(served: &Served, test: &str) -> String {
    answer(served, &json!({ "test": test }))
}

/// The answer to a question of the page.
fn answer(served: &Served, question: &serde_json::Value) -> String {
    ask(served, "POST", "/answer", &format!("localhost:{}", served.port), &question.to_string())
}

const TEST: &str = "RDMA_TSO t { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n x := 1 ;\nallowed (z=1)\n";

#[test]
fn tests_are_solved_and_bad_ones_are_reported_what_is_wrong() {
    let served = served(&[]);
    let page = ask(&served, "GET", "/", &format!("127.0.0.1:{}", served.port), "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("\"playground\":{"), "{page}");
    let solved = solve(&served, TEST);
    assert!(solved.contains("\"holds\":true") && solved.contains("\"graph\":{"), "{solved}");
    let stuck = solve(
        &served,
        "RDMA_WAIT t { x@1 = 0; z@2 = 0; barrier b = {P1, P2}; }\n P1@1 | P2@1 ;\n wait(d) | ;\n bar(b) | ;\nforbidden (x=1)\n",
    );
    assert!(stuck.contains("\"verdict\":\"vacuous\"") && stuck.contains("this waits for nothing"), "{stuck}");
    let bad = solve(&served, "RDMA_TSO t { x@1 = 0; }\n P1@1 ;\n put(y, x) ;\n");
    assert!(bad.contains("y is not declared"), "{bad}");
    assert!(solve(&served, "").contains("errors\":[\""));
    assert!(solve(&served, &"x".repeat(70_000)).contains("at most 65536 bytes"));
    assert!(ask(&served, "GET", "/etc/passwd", &format!("localhost:{}", served.port), "").starts_with("HTTP/1.1 404"));
    assert!(ask(&served, "GET", "/", "example.org", "").starts_with("HTTP/1.1 403"));
    assert!(solve(&served, TEST).contains("\"holds\":true"), "it still answers");
}

#[test]
fn tests_are_solved_on_the_network_of_the_server() {
    let served = served(&["--network", "cxi"]);
    let page = ask(&served, "GET", "/", &format!("localhost:{}", served.port), "");
    assert!(page.contains("a litmus test on cxi"), "{page}");
    let solved = solve(&served, TEST);
    assert!(solved.contains("\"model\":\"RDMA_TSO+cxi\"") && solved.contains("\"holds\":true"), "{solved}");
    let chosen = answer(&served, &json!({ "test": TEST, "network": "efa" }));
    assert!(chosen.contains("\"model\":\"RDMA_TSO+efa\""), "{chosen}");
    let unknown = answer(&served, &json!({ "test": TEST, "network": "token-ring" }));
    assert!(unknown.contains("token-ring") && unknown.contains("errors\":[\""), "{unknown}");
    let local = solve(&served, "X86_TSO t { x@1 = 0; }\n P1@1 ;\n x := 1 ;\nallowed (x=1)\n");
    assert!(local.contains("X86_TSO has no networks"), "{local}");
}

/// Nine threads, each of which updates and reads one word again and again.
fn large() -> String {
    let heads = (1..=9).map(|t| format!("P{t}@1")).collect::<Vec<_>>().join(" | ");
    let row = |r: usize| (1..=9).map(|t| format!("a{t}{r} := cas(x, {r}, {t})")).collect::<Vec<_>>().join(" | ");
    let rows: String = (0..6).map(|r| format!(" {} ;\n", row(r))).collect();
    format!("RDMA_WAIT large {{ x@1 = 0; }}\n {heads} ;\n{rows}allowed (x=1)\n")
}

/// Counts the running processes that a process has started.
#[cfg(target_os = "linux")]
fn started_by(process: u32) -> usize {
    let stats = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        // Behind the name, which stands in parentheses: the state, and the parent.
        let mut rest = stat.rsplit_once(") ")?.1.split(' ');
        let state = rest.next()?.to_owned();
        Some((state, rest.next()?.parse::<u32>().ok()?))
    });
    stats.filter(|(state, parent)| state != "Z" && *parent == process).count()
}

/// All outcomes come, but without pictures: the page requests each picture when it needs it.
#[test]
fn many_outcomes_are_no_trouble() {
    let served = served(&["--timeout", "60"]);
    let row = |of: &dyn Fn(usize) -> String, between: &str| (0..16).map(of).collect::<Vec<_>>().join(between);
    let (words, heads) = (row(&|i| format!("x{i} = 0;"), " "), row(&|i| format!("P{i}"), " | "));
    let (writes, reads) =
        (row(&|i| format!("x{i} := 1"), " | "), row(&|i| format!("a{i} := x{}", (i + 1) % 16), " | "));
    let solved = solve(&served, &format!("X86_TSO ring\n{{ {words} }}\n {heads} ;\n {writes} ;\n {reads} ;\n"));
    assert_eq!(solved.matches("\"values\":").count(), 1 << 16);
    assert!(solved.len() < 15_000_000 && !solved.contains("\"graph\":{"), "{} bytes", solved.len());
}

/// Sends a question about a test that takes long, and does not wait for the answer.
fn begun(served: &Served, test: &str) -> std::net::TcpStream {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    let test = json!({ "test": test }).to_string();
    let head =
        format!("POST /answer HTTP/1.1\r\nHost: localhost:{}\r\nContent-Length: {}\r\n\r\n", served.port, test.len());
    stream.write_all((head + &test).as_bytes()).unwrap();
    stream
}

/// Waits until the server has so many processes.
#[cfg(target_os = "linux")]
fn comes_to(served: &Served, wanted: usize) -> bool {
    (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        started_by(served.process()) == wanted
    })
}

/// No more tests are solved at once than `--jobs` says; the next one begins when one ends.
#[cfg(target_os = "linux")]
#[test]
fn tests_wait_for_each_other() {
    let served = served(&["--timeout", "60", "--jobs", "1"]);
    let first = begun(&served, &large());
    assert!(comes_to(&served, 1));
    let second = begun(&served, &large());
    assert!((0..10).all(|_| {
        std::thread::sleep(std::time::Duration::from_millis(30));
        started_by(served.process()) == 1
    }));
    drop(first);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(comes_to(&served, 1), "the second one has begun");
    drop(second);
    assert!(comes_to(&served, 0));
}

/// A browser that cancels closes the connection. Then the server stops the process that solves the test.
#[cfg(target_os = "linux")]
#[test]
fn what_nobody_waits_for_is_given_up() {
    let served = served(&["--timeout", "60"]);
    let stream = begun(&served, &large());
    assert!(comes_to(&served, 1), "it is being solved");
    drop(stream);
    assert!(comes_to(&served, 0), "it is not any more");
}

#[test]
fn a_test_that_needs_too_much_is_stopped() {
    let served = served(&["--timeout", "1", "--memory", "512"]);
    let answer = solve(&served, &large());
    assert!(answer.contains("limit of steps or time") || answer.contains("this test needs more than"), "{answer}");
    assert!(solve(&served, TEST).contains("\"holds\":true"), "it still answers");
}

/// Six threads with two puts each: an outcome is found at once, and all of them take long.
const MANY: &str = "RDMA_TSO six { x1@1 = 0; x2@2 = 0; x3@3 = 0; z1@1 = 0; z2@2 = 0; z3@3 = 0; }
 P1@1 | P2@2 | P3@3 | P4@1 | P5@2 | P6@3 ;
 put(z2, x1) | put(z3, x2) | put(z1, x3) | put(z2, x1) | put(z3, x2) | put(z1, x3) ;
 put(z3, x1) | put(z1, x2) | put(z2, x3) | put(z3, x1) | put(z1, x2) | put(z2, x3) ;
 x1 := 1 | x2 := 2 | x3 := 3 | x1 := 4 | x2 := 5 | x3 := 6 ;
 b0 := z1 | b1 := z2 | b2 := z3 | b3 := z1 | b4 := z2 | b5 := z3 ;
allowed (b0=0)\n";

/// Lines of an answer have outcomes while the search runs, and the assertions that they decide. The last line is the answer.
#[test]
fn outcomes_come_while_the_search_runs() {
    let served = served(&["--timeout", "3"]);
    let (mut first, begin) = (String::new(), std::time::Instant::now());
    let mut answer = BufReader::new(begun(&served, MANY));
    while !first.contains("\"found\":{") && answer.read_line(&mut first).is_ok_and(|length| length > 0) {}
    assert!(first.contains("\"decided\":[[\"allowed (b0=0)\",true]]"), "{first}");
    assert!(begin.elapsed().as_secs() < 3, "the search still runs");
    let last = answer.lines().map_while(Result::ok).last().expect("an answer");
    assert!(
        last.contains("\"stopped\":\"the limit of steps or time was reached\"") && last.contains("\"holds\":true"),
        "{last}"
    );
}

#[test]
fn the_least_to_insert_is_found_where_that_is_asked() {
    let served = served(&[]);
    let repair = |test: &str| answer(&served, &json!({ "test": test, "repair": true }));
    let found = repair(&TEST.replace("allowed", "forbidden"));
    assert!(found.contains("\"ways\":[{\"cost\":5") && found.contains("poll(2)"), "{found}");
    assert!(repair(TEST).contains("nothing has to be inserted"));
    assert!(solve(&served, TEST).contains("\"repair\":null"));
}

/// The body of an implementation is not repaired from a test: the page says which command does that.
#[test]
fn a_test_that_is_run_by_an_implementation_says_what_repairs_the_body() {
    let served = served(&[]);
    let test = "RDMA_WAIT t\n{ svar s = 0; }\n P1@1 | P2@2 ;\n s.write(1) | a := s.read ;\nforbidden (a=0)\n";
    let found = answer(&served, &json!({ "test": test, "repair": true, "implemented": ["sv"] }));
    assert!(found.contains("`mowgli repair sv` repairs the body") && found.contains("\"ways\":[]"), "{found}");
}

/// The model is replaced where the test names it, whatever stands before; what is chosen in vain is said.
#[test]
fn questions_choose_models_and_implementations() {
    let served = served(&[]);
    let of = |over: &str, implemented: &[&str]| {
        let test = format!("// RDMA_WAIT is not its model\n{TEST}");
        answer(&served, &json!({ "test": test, "over": over, "implemented": implemented }))
    };
    let sc = of("RDMA_SC", &[]);
    assert!(sc.contains("\"model\":\"RDMA_SC\"") && sc.contains("\"holds\":true"), "{sc}");
    assert!(of("RDMA", &[]).contains("no model RDMA"));
    let wait = TEST.replace("RDMA_TSO", "RDMA_WAIT").replace("put(z, x)", "put(z, x, d)");
    let idle = answer(&served, &json!({ "test": wait, "implemented": ["bal:no-fence", "sv"] }));
    assert!(idle.contains("\"idle\":[\"bal:no-fence\",\"sv\"]"), "{idle}");
    let bal = "RDMA_WAIT b { barrier z = {P1}; }\n P1@1 ;\n bar(z) ;\nforbidden (true)\n";
    let used = answer(&served, &json!({ "test": bal, "implemented": ["bal:no-fence", "sv"] }));
    assert!(used.contains("\"idle\":[]") && used.contains("is possible by bal:no-fence, sv"), "{used}");
    let no_question = answer(&served, &json!({ "tests": TEST }));
    assert!(no_question.contains("\"errors\":[\""), "{no_question}");
}

/// The page may run its own script and ask its own server, and nothing else; no page may show it in a frame.
#[test]
fn answers_carry_a_policy() {
    let served = served(&["--jobs", "1"]);
    let page = ask(&served, "GET", "/", &format!("localhost:{}", served.port), "");
    assert!(page.contains("Content-Security-Policy: frame-ancestors 'none'\r\n"));
    assert!(page.contains("content=\"default-src 'none'; script-src 'sha256-") && page.contains("connect-src 'self'"));
    assert!(page.contains("<link rel=\"icon\" href=\"data:"));
}
