//! The page that `report` writes, looked at in a browser where there is one.

mod common;

use std::path::Path;
use std::process::Command;

use common::browser;

/// Writes a page; its text.
fn page(folder: &Path, what: &[&str]) -> String {
    let out = folder.join("page").display().to_string();
    let args = [&["report"], what, &["--out", &out]].concat();
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(&args).output().expect("the command runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    std::fs::read_to_string(folder.join("page/index.html")).expect("a page")
}

/// What a browser makes of a page, after `script` has run in it.
fn seen(browser: &str, folder: &Path, html: &str, script: &str) -> String {
    let path = folder.join("seen.html");
    std::fs::write(&path, html.replace("</body>", &format!("<script>{script}</script></body>"))).unwrap();
    common::seen(browser, folder, &format!("file://{}", path.display()))
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

const TEST: &str = "RDMA_TSO put-then-write { x@1 = 0; z@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := z ;\n poll(2) | ;\n x := 1 | ;\nforbidden (z=1)\nallowed (a=0)\n";

#[test]
fn a_page_needs_nothing_else_and_keeps_what_went_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["bal:no-fence"]);
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

#[test]
fn the_counterexample_of_the_barrier_is_drawn_and_its_cycle_is_walked() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["bal:no-fence"]);
    let dom = seen(browser, folder.path(), &html, "");
    assert_eq!(count(&dom, "<svg"), 1, "{dom}");
    assert!(count(&dom, "class=\"lane\"") >= 1 && count(&dom, "<circle") >= 4, "{dom}");
    assert!(count(&dom, "class=\"call marked\"") >= 2, "the cycle's calls are marked");
    assert!(dom.contains("aria-live=\"polite\">A cycle of "), "{dom}");
    // The first edge by the keyboard; and a relation switched off.
    let script = "document.querySelector('svg').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));\
                  document.querySelector('input[type=checkbox]').click();";
    let dom = seen(browser, folder.path(), &html, script);
    assert!(dom.contains("aria-live=\"polite\">1 of ") && dom.contains("class=\"edge cycle now\""), "{dom}");
    assert!(dom.contains("display: none"), "{dom}");
}

/// What is where in the first picture of a page, as it is laid out on the screen.
const OUTLINE: &str = r"
    const box = e => e.getBoundingClientRect(), out = [];
    const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
    const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
    const picture = document.querySelector('svg');
    const all = what => [...picture.querySelectorAll(what)];
    const calls = all('.call'), texts = all('text'), within = (e, list) => list.filter(o => inside(box(o), box(e)));
    for (const lane of all('.lane')) {
      out.push(within(lane, all('.head')).map(t => t.textContent).join(', '));
      for (const call of within(lane, calls)) out.push('  ' + within(call, texts).map(t => t.textContent).join(' | '));
    }
    for (const layer of all('g')) {
      const edges = [...layer.querySelectorAll('.edge')], name = layer.querySelector('title');
      out.push(edges.length + ' edges of ' + (name ? name.textContent : 'the cycle'));
    }
    const pairs = calls.flatMap((a, i) => calls.slice(i + 1).map(b => [box(a), box(b)]));
    out.push('calls that overlap: ' + pairs.filter(([a, b]) => !apart(a, b)).length);
    const lost = texts.filter(t => !t.matches('.head') && !calls.some(c => inside(box(t), box(c))));
    out.push('texts outside of a call: ' + lost.map(t => t.textContent).join(', '));
    const outline = document.createElement('pre');
    outline.id = 'outline';
    outline.textContent = out.join('\n');
    document.body.append(outline);";

#[test]
fn the_barrier_is_laid_out_so_that_it_can_be_read() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["bal:no-fence", "--placement", "remote"]);
    let dom = seen(browser, folder.path(), &html, OUTLINE);
    let outline = dom.split("<pre id=\"outline\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    insta::assert_snapshot!("barrier_outline", outline.expect("an outline"));
}

#[test]
fn outcomes_of_core_rma_have_witnesses_too() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let test = folder.path().join("test.litmus");
    let fig6 = "CORE_RMA fig6 { x@1 = 1; y@2 = 0; }\n P0@1 | P1@2 ;\n a := x | put(x, y) ;\n | y := get(x) ;\n | flush(1) ;\n | b := y ;\nforall (b=0)\n";
    std::fs::write(&test, fig6).unwrap();
    let html = page(folder.path(), &[&test.display().to_string()]);
    let dom =
        seen(browser, folder.path(), &html, "document.querySelectorAll('details').forEach(d => { d.open = true; });");
    assert_eq!(count(&dom, "<svg"), 2 + 1, "two outcomes and one assertion");
    assert!(dom.contains("IR (core-rma)") && dom.contains("er read "), "{dom}");
}

#[test]
fn each_outcome_of_a_litmus_test_has_a_witness() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let test = folder.path().join("test.litmus");
    std::fs::write(&test, TEST).unwrap();
    let html = page(folder.path(), &[&test.display().to_string()]);
    let dom =
        seen(browser, folder.path(), &html, "document.querySelectorAll('details').forEach(d => { d.open = true; });");
    let outcomes = count(&dom, "<summary>An execution with");
    assert_eq!(outcomes, 1, "{dom}");
    assert_eq!(count(&dom, "<svg"), outcomes + 2, "one for each outcome and each assertion");
    // The forbidden outcome has no execution: its program is drawn, with the cycle.
    assert!(dom.contains("aria-live=\"polite\">A cycle of "), "{dom}");
}

#[test]
fn snapshots_of_executions_are_drawn() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let snapshots = concat!(env!("CARGO_MANIFEST_DIR"), "/../proofs/tests/snapshots/");
    let names = ["loco_theorem_4_2_bal__bal_execution.snap", "loco_theorem_4_2_bal__bal_concretisation.snap"];
    let paths = names.map(|name| format!("{snapshots}{name}"));
    let html = page(folder.path(), &[&paths[0], &paths[1]]);
    let dom = seen(browser, folder.path(), &html, "");
    assert_eq!(count(&dom, "<svg"), 1, "the second tells of no execution");
    assert!(dom.contains("BAR(z)") && dom.contains("g(BAR, aCR) ="), "{dom}");
}
