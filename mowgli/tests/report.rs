//! The page that `report` writes, as text; `equipped.rs` opens it in a browser.

use std::process::Command;

use mowgli::book::files;

use crate::page::page;
use crate::ran::{file, is_bad, mowgli, tells};

#[test]
fn wrong_names_alone_make_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("page");
    for name in ["bal:nofence", "no-such-library"] {
        let ran = mowgli(&["report", name, "--out", &out.display().to_string()]);
        assert!(ran.code == 2 && !ran.err.contains("written to") && !out.exists(), "{}", ran.err);
    }
}

#[test]
fn a_page_needs_nothing_else_and_keeps_what_went_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["sv:fence-of-puts"]);
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.len() < 200_000, "{} bytes", html.len());
    let bad = folder.path().join("bad.litmus");
    // A description must not end the element that holds the data.
    std::fs::write(&bad, "RDMA_TSO t\n\"</script><b>\"\n{ x@1 = 0; }\n P1@1 ;\n x := 1 ;\nallowed (x=1)\n").unwrap();
    let html = page(folder.path(), &[&bad.display().to_string()]);
    assert!(!html.contains("</script><b>"));
    std::fs::write(&bad, "RDMA_TSO t { x@1 = 0; }\n P1@1 ;\n y := 1\n").unwrap();
    let out = folder.path().join("mixed").display().to_string();
    let args = ["report", "no-such-library", &bad.display().to_string(), "sv", "--timeout", "1", "--out", &out];
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args).output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{err}");
    assert!(err.contains("no-such-library is neither a file nor a library") && err.contains("bad.litmus"), "{err}");
    assert!(std::fs::read_to_string(folder.path().join("mixed/index.html")).unwrap().contains("\"library\":\"sv\""));
}

/// A test with an execution that is stuck is not shown as fine.
/// A cell of the table opens the counterexample, which has the repaired body beside it.
#[test]
fn the_page_of_networks_has_counterexamples_and_repairs() {
    let folder = tempfile::tempdir().unwrap();
    let test = folder.path().join("t.litmus");
    let rows = " put(z, x) | await f=1 ;\n poll(2) | b := z ;\n put@q2(f, m) | ;\n";
    let text =
        format!("RDMA_TSO t\n{{ x@1 = 1; m@1 = 1; z@2 = 0; f@2 = 0; }}\n P1@1 | P2@2 ;\n{rows}forbidden (b=0)\n");
    std::fs::write(&test, text).unwrap();
    let (test, file) = (test.display().to_string(), folder.path().join("networks.html").display().to_string());
    let networks = ["--network", "rc-visible", "--network", "cxi", "--repair", "--html"];
    let args = [&["networks", "sv", &test], &networks[..], &[&file]].concat();
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args).output().expect("the command runs");
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    let page = std::fs::read_to_string(file).unwrap();
    let is_there = |text: &str| assert!(page.contains(text), "{text}");
    is_there(r#""columns":["t","sv"]"#);
    is_there(r#"["rc-visible",[{"text":"holds","is_good":true,"check":null,"test":null}"#);
    is_there(r#"{"text":"unsound, repaired for 1","is_good":false,"check":0,"test":null}"#);
    is_there(r#"{"text":"fails, repaired for 3","is_good":false,"check":null,"test":0}"#);
    is_there("put@delivered(z, x)");
    is_there(r"GF: for n in ns {\n  rdma-wait-rmw::GetBy(fence, sv.bot[here], sv.bot[n], sv.d0)");
}

/// Pages are of the network that the arguments name, and of executions on another one there are none.
#[test]
fn pages_are_of_a_network() {
    let folder = tempfile::tempdir().unwrap();
    let test = folder.path().join("t.litmus");
    std::fs::write(&test, "RDMA_TSO t\n{ x@1 = 1; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\nallowed (z=1)\n").unwrap();
    let page = page(folder.path(), &[&test.display().to_string(), "--network", "cxi"]);
    assert!(page.contains("\"model\":\"RDMA_TSO+cxi\""), "{page}");
    let kept = folder.path().join("kept.ron");
    std::fs::write(&kept, "").unwrap();
    let args = ["report", &kept.display().to_string(), "--json", "--network", "cxi"];
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args).output().expect("the command runs");
    let message = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.code() == Some(2) && message.contains("leave out --network cxi"), "{message}");
}

#[test]
fn executions_that_are_stuck_are_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let test = folder.path().join("t.litmus");
    let text = "RDMA_TSO t\n{ x@1 = 0; }\n P1@1 | P2@1 ;\n a := x | x := 1 ;\n if a = 0 { | ;\n poll(1) | ;\n } | ;\n";
    std::fs::write(&test, text).unwrap();
    let html = page(folder.path(), &[&test.display().to_string()]);
    let row = r#""stuck":[{"values":["0"],"waits":["P1 at line 6, poll(1): "#;
    assert!(
        html.contains(row) && html.contains(r#""verdict":"stuck""#) && html.contains(r#""unspoken":true"#),
        "{html}"
    );
}

/// The colours of one of the two themes, by name.
fn colours(theme: &str) -> Vec<(String, [f64; 3])> {
    let declared = theme.split(['{', ';']).filter_map(|part| part.trim().strip_prefix("--")?.split_once(": #"));
    let channel = |hex: &str, i: usize| {
        let digits = if hex.len() == 3 { hex[i..=i].repeat(2) } else { hex[2 * i..2 * i + 2].to_owned() };
        f64::from(u8::from_str_radix(&digits, 16).unwrap()) / 255.0
    };
    declared.map(|(name, hex)| (name.to_owned(), [0, 1, 2].map(|i| channel(hex, i)))).collect()
}

/// Relative luminance as WCAG 2 defines it.
fn luminance(colour: [f64; 3]) -> f64 {
    let [r, g, b] = colour.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Returns the contrast of two colours as WCAG 2 defines it.
fn contrast_of(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Returns the contrast of two colours in the light theme and in the dark one.
fn contrasts(css: &str) -> impl Fn(&str, &str) -> [f64; 2] + use<> {
    // The page has a light and a dark theme, and so has the book.
    let all: Vec<&str> = css.split(":root").skip(1).map(|rest| rest.split('}').next().unwrap()).collect();
    let themes =
        [0, 1].map(|first| all.iter().skip(first).step_by(2).flat_map(|theme| colours(theme)).collect::<Vec<_>>());
    move |a, b| {
        themes.each_ref().map(|all| {
            let of = |name: &str| all.iter().find(|(known, _)| known == name).expect(name).1;
            contrast_of(of(a), of(b))
        })
    }
}

#[test]
fn texts_and_controls_stand_out_in_light_and_in_dark() {
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["sv:fence-of-puts"]);
    let book = files(30).into_iter().find(|(name, _)| name == "book.css").expect("a style").1;
    let css = html + &book;
    let contrast = contrasts(&css);
    for name in ["ink", "soft", "bad", "good", "focus", "keyword", "call", "number", "thread"] {
        for ground in ["paper", "panel"] {
            let found = contrast(name, ground);
            assert!(found.iter().all(|found| *found >= 4.5), "{name} on {ground}: {found:.2?}");
        }
    }
    let edge = contrast("edge", "panel");
    assert!(edge.iter().all(|edge| *edge >= 3.0), "the edge of a control: {edge:.2?}");
    // Beside the chosen edge of a cycle the others are faded, on the ground of a node.
    let drawn = colours("--cycle: #c5221f; --lane: #f4f7fb");
    let opacity: f64 =
        css.split("{ opacity: ").nth(1).and_then(|rest| rest.split(';').next()).unwrap().parse().unwrap();
    let faded = [0, 1, 2].map(|i| opacity * drawn[0].1[i] + (1.0 - opacity) * drawn[1].1[i]);
    let faded = contrast_of(faded, drawn[1].1);
    assert!(faded >= 3.0, "a faded edge: {faded:.2}");
}

/// Pages that take minutes are in the site if options ask for them, for some libraries or all. The next site keeps them.
#[test]
fn a_site_has_a_report_and_networks_if_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let (solver, out) = (file(folder.path(), "a.wasm", "\0asm"), folder.path().join("site"));
    let args = ["site", "--out", &out.display().to_string(), "--solver", &solver];
    // A file in the working directory has the name of a library, which it does not replace.
    file(folder.path(), "slock", "");
    let all = [&args[..], &["--report", "--networks", "--only", "slock,spinlock"]].concat();
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(all).current_dir(folder.path()).output().unwrap();
    assert!(ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("efa"), "{ran:?}");
    let text = |name: &str| std::fs::read_to_string(out.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let (report, networks) = (text("report/index.html"), text("networks/index.html"));
    assert!(
        report.contains("<title>The libraries</title>")
            && report.contains("\"library\":\"slock\"")
            && report.contains("\"library\":\"spinlock\"")
    );
    assert!(networks.contains("\"columns\":[\"slock\"]"), "x86-TSO has no networks");
    assert!([report, networks].iter().all(|page| page.contains("<a href=\"../index.html\">Playground</a>")));
    assert!(mowgli(&args).code == 0);
    let links =
        "<a href=\"report/index.html\">The libraries</a> <a href=\"networks/index.html\">The networks</a><details>";
    assert!(text("index.html").contains(links) && text("networks.html").contains("book.css"));
}

#[test]
fn a_site_has_the_playground_and_the_book_with_one_solver() {
    let folder = tempfile::tempdir().unwrap();
    let (solver, out) = (file(folder.path(), "a.wasm", "\0asm"), folder.path().join("site"));
    let args = ["site", "--out", &out.display().to_string(), "--solver"];
    tells(&[&args[..], &[&solver]].concat(), 0, &[]);
    let text = |name: &str| std::fs::read_to_string(out.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let missing = "The book</a><details><summary>What this site lacks, and what adds it</summary><ul>\
                   <li>The libraries: <code>mowgli site --report</code></li><li>The networks: <code>mowgli site --networks</code></li>\
                   <li>The gallery: <code>mowgli gallery site --report";
    assert!(text("index.html").contains(missing));
    assert!(text("solver.js").starts_with("const SOLVER = \"") && text("book.html").contains("\"weak.html\""));
    assert!(text("index.html").contains("<script src=\"editor.js\">") && text("editor.js").contains("MIT License"));
    let page = text("weak.html");
    for shared in ["solver.js", "page.js", "page.css", "book.js", "book.css"] {
        assert!(page.contains(&format!("\"{shared}\"")) && out.join(shared).exists(), "{shared}");
    }
    let public = mowgli(&[&args[..], &[&solver, "--address", "https://example.org/"]].concat());
    assert!(public.code == 0 && text("index.html").contains(r#""address":"https://example.org/""#), "{}", public.err);
    is_bad(
        &[&args[..], &[&solver, "--address", "example.org"]].concat(),
        &["example.org is not the address of a page", "https://example.org/mowgli/"],
    );
    is_bad(&[&args[..], &[&solver, "--report", "--only", "svv"]].concat(), &["svv", "sv"]);
    is_bad(
        &[&args[..], &[&solver, "--networks", "--only", "spinlock"]].concat(),
        &["no library of --only is over RDMA", "--networks"],
    );
    is_bad(&[&args[..], &[&solver, "--only", "sv"]].concat(), &["--report"]);
    let text = file(folder.path(), "b.wasm", "(module)");
    is_bad(&[&args[..], &[&text]].concat(), &["b.wasm is not WebAssembly", "cargo rustc --profile web"]);
}

/// Drawings look once at each pair of an order. By pairs of writes, those of fifty outcomes with a hundred writes took minutes.
#[test]
#[ignore = "takes ten seconds"]
fn outcomes_of_many_writes_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (2..100).map(|value| format!(" x := {value} | ;\n")).collect();
    let text = format!("RDMA_TSO t\n{{ x@1 = 0; }}\n P1@1 | P2@1 ;\n x := 1 | a := await x >= 50 ;\n{rows}ends\n");
    tells(
        &["report", "--json", &file(folder.path(), "many.litmus", &text)],
        0,
        &["\"verdict\":\"holds\"", "\"stopped\":null"],
    );
}
