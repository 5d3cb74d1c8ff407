//! Tests that need more than Rust: a browser for pages, and a C compiler with the headers of libibverbs for generated
//! programs. Tests whose tool is missing are reported as ignored, not as passed.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::LazyLock;

use libtest_mimic::{Arguments, Trial};
use mowgli::litmus::{parse::parse, run::solve};
use mowgli_core::search::problem::Limits;
use mowgli_libraries::catalogue::catalogue;
use serde_json::json;

mod cluster;
mod extension;
mod herd;
mod pages;
mod slurm;

#[path = "common/walk.rs"]
mod walk;

#[path = "common/page.rs"]
mod page;
use page::page;

#[path = "common/served.rs"]
mod served;
use served::{Served, served};

#[path = "common/ask.rs"]
mod ask;
use ask::ask;

#[path = "common/ran.rs"]
mod ran;
use ran::{file, is_bad, mowgli, tells};

#[path = "common/needs.rs"]
mod needs;
use needs::{Layer, Need, trial};

fn main() -> ExitCode {
    let pages: [(&str, fn()); 19] = [
        (
            "the_counterexample_of_the_barrier_is_drawn_and_its_cycle_is_walked",
            the_counterexample_of_the_barrier_is_drawn_and_its_cycle_is_walked,
        ),
        ("the_barrier_is_laid_out_so_that_it_can_be_read", the_barrier_is_laid_out_so_that_it_can_be_read),
        ("the_first_screen_says_what_goes_wrong", the_first_screen_says_what_goes_wrong),
        ("a_run_says_what_is_under_way", a_run_says_what_is_under_way),
        ("edges_keep_apart_and_begin_and_end_at_pills", edges_keep_apart_and_begin_and_end_at_pills),
        (
            "long_lists_are_deflated_filtered_and_built_when_opened",
            long_lists_are_deflated_filtered_and_built_when_opened,
        ),
        ("the_playground_keeps_its_test_in_the_address", the_playground_keeps_its_test_in_the_address),
        ("outcomes_of_core_rma_have_witnesses_too", outcomes_of_core_rma_have_witnesses_too),
        ("each_outcome_of_a_litmus_test_has_a_witness", each_outcome_of_a_litmus_test_has_a_witness),
        ("snapshots_of_executions_are_drawn", snapshots_of_executions_are_drawn),
        ("the_page_solves_what_it_shows", the_page_solves_what_it_shows),
        ("the_page_puts_a_repair_into_the_test", the_page_puts_a_repair_into_the_test),
        ("the_playground_loses_no_work", the_playground_loses_no_work),
        ("the_editor_colours_marks_completes_and_undoes", the_editor_colours_marks_completes_and_undoes),
        ("runs_show_what_a_search_has_not_found", runs_show_what_a_search_has_not_found),
        ("links_hold_all_that_is_chosen", links_hold_all_that_is_chosen),
        ("pages_are_used_by_keyboard_and_on_small_screens", pages_are_used_by_keyboard_and_on_small_screens),
        ("a_report_has_totals_and_anchors_by_name", a_report_has_totals_and_anchors_by_name),
        ("a_repair_is_shown_beside_the_counterexample", a_repair_is_shown_beside_the_counterexample),
    ];
    let alone: [(&str, fn()); 3] = [
        ("the_playground_needs_no_server", the_playground_needs_no_server),
        ("tests_of_the_book_are_run_explained_and_edited", tests_of_the_book_are_run_explained_and_edited),
        (
            "all_tests_of_the_book_have_their_outcomes_in_the_browser",
            all_tests_of_the_book_have_their_outcomes_in_the_browser,
        ),
    ];
    let papers: [(&str, fn()); 1] = [("pictures_compile_in_latex", pictures_compile_in_latex)];
    let all_papers: [(&str, fn()); 1] = [("pictures_of_all_papers_are_pdf", pictures_of_all_papers_are_pdf)];
    let proofs: [(&str, fn()); 6] = [
        ("certificates_are_proofs_of_false", certificates_are_proofs_of_false),
        ("sv_is_proved_and_its_obligations_are_written", sv_is_proved_and_its_obligations_are_written),
        ("a_broken_variant_of_sv_is_refuted", || broken_variant_of_sv_is_refuted("first-target-only")),
        ("what_is_over_a_library_is_proved", what_is_over_a_library_is_proved),
        ("what_cannot_be_proved_is_named", what_cannot_be_proved_is_named),
        ("proofs_are_over_the_model_of_the_network", || {
            proofs_are_over_the_model_of_the_network(&[("sv", "rc-visible")], &["cxi"]);
        }),
    ];
    let more_proofs: [(&str, fn()); 4] = [
        ("repaired_bodies_are_proved_on_their_network", repaired_bodies_are_proved_on_their_network),
        ("open_obligations_are_counted", open_obligations_are_counted),
        ("every_broken_variant_of_sv_is_refuted", || {
            ["fence-of-puts", "first-target-only"].into_iter().for_each(broken_variant_of_sv_is_refuted);
        }),
        ("proofs_are_over_the_model_of_every_network", || {
            let ordered = ["rc-relaxed", "cxi", "efa-direct", "tcp"];
            let proved: Vec<_> = ordered.iter().flat_map(|&network| [("slock", network), ("bal", network)]).collect();
            proofs_are_over_the_model_of_the_network(&proved, &["cxi", "efa-direct", "rc-relaxed"]);
        }),
    ];
    let programs: [(&str, fn()); 3] = [
        ("emitted_c_compiles", emitted_c_compiles),
        ("printed_c_compiles_alone", printed_c_compiles_alone),
        ("the_c_of_the_book_compiles", the_c_of_the_book_compiles),
    ];
    let trials = |tests: &[(&'static str, fn())], layer: Layer, need: Need| -> Vec<Trial> {
        tests.iter().map(|&(name, test)| trial(name, layer, need.clone(), test)).collect()
    };
    let all = [
        trials(&pages, Layer::Long, CHROMIUM),
        trials(&alone, Layer::Long, WASM),
        trials(&papers, Layer::Quick, LATEX),
        trials(&all_papers, Layer::Long, LATEX),
        trials(&proofs, Layer::Quick, Z3),
        trials(&more_proofs, Layer::Long, Z3),
        trials(&programs, Layer::Quick, VERBS),
        extension::trials(),
        herd::trials(),
        pages::trials(),
        vec![cluster::trial()],
    ];
    libtest_mimic::run(&Arguments::from_args(), all.into_iter().flatten().collect()).exit_code()
}

/// Returns a reason if a tool is missing.
fn unless(is_there: bool) -> Option<String> {
    (!is_there).then(|| "it cannot be used here".to_owned())
}

const CHROMIUM: Need = Need { tool: "Chromium", in_ci: true, missing: || unless(BROWSER.is_some()) };

/// `rustup target add wasm32-unknown-unknown` installs it.
const WASM: Need = Need {
    tool: "Chromium and the target wasm32-unknown-unknown",
    in_ci: false,
    missing: || {
        let folder =
            Command::new("rustc").args(["--target", "wasm32-unknown-unknown", "--print", "target-libdir"]).output();
        let is_there = folder.is_ok_and(|o| Path::new(String::from_utf8_lossy(&o.stdout).trim()).exists());
        unless(is_there && BROWSER.is_some())
    },
};

/// Runs LaTeX on a document; returns its log if it fails.
fn typeset(folder: &Path, body: &str) -> Result<(), String> {
    let head =
        "\\documentclass{article}\n\\usepackage[paperwidth=60cm,paperheight=60cm]{geometry}\n\\usepackage{tikz}\n";
    let document = format!("{head}\\begin{{document}}\n{body}\n\\end{{document}}\n");
    std::fs::write(folder.join("picture.tex"), document).expect("the folder is there");
    let args = ["-interaction=nonstopmode", "-halt-on-error", "picture.tex"];
    let ran = Command::new("pdflatex").args(args).current_dir(folder).output().map_err(|e| e.to_string())?;
    if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stdout).into_owned()) }
}

/// Debian's `texlive-latex-base` and `texlive-pictures`, which take longer to install than a landing may take.
const LATEX: Need = Need {
    tool: "pdflatex with TikZ",
    in_ci: false,
    missing: || unless(tempfile::tempdir().is_ok_and(|folder| typeset(folder.path(), "\\tikz\\draw (0,0);").is_ok())),
};

/// The version of a solver decides how much it proves in time.
const Z3: Need = Need {
    tool: "z3 4.8.12",
    in_ci: true,
    missing: || {
        let version = Command::new("z3").arg("--version").output();
        unless(version.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains("4.8.12")))
    },
};

const VERBS: Need = Need { tool: "cc and infiniband/verbs.h", in_ci: true, missing: || unless(has_verbs()) };

fn has_verbs() -> bool {
    compiles("#include <infiniband/verbs.h>\n")
}

/// The command that starts a Chromium.
static BROWSER: LazyLock<Option<&str>> = LazyLock::new(|| {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success()))
});

/// True if there is a C compiler that accepts this program.
fn compiles(program: &str) -> bool {
    let compiler = Command::new("cc")
        .args(["-fsyntax-only", "-Wall", "-Werror", "-Wno-unused", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    compiler.is_ok_and(|mut compiler| {
        let mut input = compiler.stdin.take().expect("piped");
        let written = input.write_all(program.as_bytes()).is_ok();
        drop(input);
        compiler.wait().is_ok_and(|status| status.success()) && written
    })
}

/// Returns the page at `url` after a browser has run its scripts. The browser keeps its profile in `folder`.
fn browsed(folder: &Path, url: &str) -> String {
    let data = format!("--user-data-dir={}", folder.join("profile").display());
    let screen = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1366,768"];
    let flags = [&screen[..], &["--virtual-time-budget=8000", "--dump-dom"]].concat();
    let flags = [flags, vec!["--enable-logging=stderr", &data, url]].concat();
    let ran = Command::new(BROWSER.expect("there is a Chromium")).args(flags).output().expect("the browser runs");
    let printed = String::from_utf8_lossy(&ran.stderr);
    assert!(!printed.contains("Content Security Policy"), "the page's policy refuses something: {printed}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Adds a script that runs when the page has run its own. It stands before the policy of the page, which does not hold
/// for it.
fn with_script(html: &str, script: &str) -> String {
    let later = format!("<head><script>addEventListener('DOMContentLoaded', () => {{ {script} }});</script>");
    html.replacen("<head>", &later, 1)
}

/// Returns a page after a browser has run its scripts, and then `script`.
fn seen(folder: &Path, html: &str, script: &str) -> String {
    let path = folder.join("seen.html");
    std::fs::write(&path, with_script(html, script)).unwrap();
    browsed(folder, &format!("file://{}", path.display()))
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

/// The beginning of a drawing in a page; in its data the quote is escaped.
const DRAWN: &str = "<svg xmlns=\"http";

/// The buffer of a put is used again before the network card has read it.
const REUSED: &str =
    "RDMA_TSO reused { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n x := 1 ;\nforbidden (z=1)\nallowed (z=0)\n";

const TEST: &str = "RDMA_TSO put-then-write { x@1 = 0; z@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := z ;\n poll(2) | ;\n x := 1 | ;\nforbidden (z=1)\nallowed (a=0)\n";

fn the_counterexample_of_the_barrier_is_drawn_and_its_cycle_is_walked() {
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["bal:no-fence"]);
    let dom = seen(folder.path(), &html, "");
    assert_eq!(count(&dom, DRAWN), 1, "{dom}");
    assert!(count(&dom, "class=\"lane\"") >= 1 && count(&dom, "class=\"pill\"") >= 4, "{dom}");
    assert!(count(&dom, "fill=\"#fff6d6\" stroke=\"#c5221f\" class=\"call\"") >= 2, "the cycle's calls are marked");
    assert!(dom.contains("aria-live=\"polite\">A cycle of "), "{dom}");
    // The first edge by the keyboard; and a relation switched off.
    let script = "document.querySelector('svg').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));\
                  document.querySelector('input[type=checkbox]').click();";
    let dom = seen(folder.path(), &html, script);
    assert!(dom.contains("aria-live=\"polite\">1 of ") && dom.contains("<g data-step=\"0\" class=\"now\""), "{dom}");
    assert!(dom.contains("display: none"), "{dom}");
}

/// A script that lists the parts of a page's first picture by their places on the screen.
const OUTLINE: &str = r"
    const box = e => e.getBoundingClientRect(), out = [];
    const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
    const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
    const picture = document.querySelector('svg');
    const all = what => [...picture.querySelectorAll(what)];
    const calls = all('.call'), texts = all('text:not(.name):not(.number)').filter(t => t.getBoundingClientRect().width > 0);
    const said = t => t.lastChild.textContent, within = (e, list) => list.filter(o => inside(box(o), box(e)));
    for (const lane of all('.lane')) {
      out.push(within(lane, all('.head')).map(said).join(', '));
      for (const call of within(lane, calls)) out.push('  ' + within(call, texts).map(said).join(' | '));
    }
    const edges = [...all('[data-step]'), ...all('[data-relation]')].filter(e => e.querySelector('.edge')).map(e => (e.dataset.step ? 'cycle ' : '') + e.querySelector('title').textContent);
    for (const name of new Set(edges)) out.push(edges.filter(e => e === name).length + ' edges of ' + name);
    const spilled = all('.pill').filter(p => box(p.parentNode.querySelector('text')).right > box(p).right);
    out.push('texts that leave their pills: ' + spilled.length);
    const pairs = calls.flatMap((a, i) => calls.slice(i + 1).map(b => [box(a), box(b)]));
    out.push('calls that overlap: ' + pairs.filter(([a, b]) => !apart(a, b)).length);
    const lost = texts.filter(t => !t.matches('.head, .cell') && !calls.some(c => inside(box(t), box(c))));
    out.push('texts outside of a call: ' + lost.map(said).join(', '));
    const outline = document.createElement('pre');
    outline.id = 'outline';
    outline.textContent = out.join('\n');
    document.body.append(outline);";

fn the_barrier_is_laid_out_so_that_it_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["bal:no-fence", "--placement", "remote"]);
    let dom = seen(folder.path(), &html, OUTLINE);
    let outline = dom.split("<pre id=\"outline\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let lines: Vec<&str> = outline.expect("an outline").lines().collect();
    // The calls of a thread stand below each other, in its order. The cycle has an edge for each sentence.
    let calls: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("  ")?.split(" | ").next()).collect();
    assert_eq!(calls, ["put(px, po)", "bar(z)", "bar(z)", "get(pl, px, dp)", "wait(dp)", "a := pl  (0)", "bar(z)"]);
    assert_eq!(
        lines.iter().filter(|line| !line.starts_with(' ')).take(2).collect::<Vec<_>>(),
        [&"node 1, P1, P2", &"node 2, P3"]
    );
    assert!(lines[2].ends_with(" | aGF_2: promised, missing"), "{lines:#?}");
    for line in [
        "1 edges of cycle rb",
        "2 edges of cycle ppo",
        "1 edges of cycle round",
        "texts that leave their pills: 0",
        "calls that overlap: 0",
        "texts outside of a call: ",
    ] {
        assert!(lines.contains(&line), "{line:?} is not in {lines:#?}");
    }
}

/// Returns the lines that a script of [`telling`] puts into `out`.
fn reported(dom: &str) -> Vec<String> {
    let reported =
        dom.split("<pre id=\"printed\">").nth(1).and_then(|rest| rest.split("</pre>").next()).expect("what is printed");
    reported.lines().map(str::to_owned).collect()
}

/// Returns a script that puts the lines of `out` behind a page.
fn telling(script: &str) -> String {
    let end = "const printed = document.createElement('pre'); printed.id = 'printed'; printed.textContent = out.join('\\n'); document.body.append(printed);";
    format!("{{ const out = []; {script} {end} }}")
}

/// A laptop's screen shows the client, the whole chain of sentences, and the head of the picture. The smallest client
/// is behind a tab. An edge under the pointer is marked in all three.
fn the_first_screen_says_what_goes_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["bal:no-fence"]);
    let script = telling(
        r"const box = e => e.getBoundingClientRect(), all = what => [...document.querySelectorAll(what)];
        const tabs = all('[role=tab]');
        out.push(tabs.map(tab => tab.textContent + (tab.ariaSelected === 'true' ? ' *' : '')).join(', '));
        out.push(all('.why tr').map(row => [...row.children].map(cell => cell.textContent).join(' | ')).join(' ; '));
        out.push(all('.why li').map(li => li.textContent).join(' ; '));
        out.push('promised: ' + all('svg text.promised').map(text => text.firstChild.textContent).join(', '));
        out.push('above the fold: ' + [Math.max(...all('.why li').map(li => box(li).bottom)), box(document.querySelector('.call')).bottom].every(y => y < innerHeight));
        all('.why li')[1].dispatchEvent(new MouseEvent('mouseenter'));
        out.push('pointed at: ' + [all('td.hover').length, all('rect.hover').length, all('g.hover').length].join(', '));
        tabs[1].click();
        out.push(all('.why th').length + ' thread, ' + all('.drawing svg').length + ' picture');",
    );
    let said = reported(&seen(folder.path(), &html, &script));
    let cycle = [
        "put(px, po) keeps its place before bar(z) (P1) in its thread, as aNRW_2 does before aGF_2  (ppo)",
        "bar(z) (P2) ends after bar(z) (P1) has begun: they are one round  (round)",
        "bar(z) (P2) keeps its place before get(pl, px, dp) in its thread, as aCR does before aNRR_2  (ppo)",
        "get(pl, px, dp) read 0, before put(px, po) wrote  (rb)",
        "Back to the first event: a cycle.",
    ];
    assert_eq!(said[0], "A typical counterexample *, The smallest counterexample");
    assert!(
        said[1].starts_with("P1 on node 1 | P2 on node 1 | P3 on node 2 ; put(px, po)1 | bar(z)3 | bar(z) ; "),
        "{}",
        said[1]
    );
    assert_eq!(said[2], cycle.join(" ; "));
    let others =
        ["promised: aGF_2: promised, missing", "above the fold: true", "pointed at: 2, 2, 2", "1 thread, 1 picture"];
    assert_eq!(said[3..], others);
}

/// The put is still under way when the barrier is over and the get reads: this is the mistake.
fn a_run_says_what_is_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["bal:no-fence", "--placement", "remote"]);
    let script = telling(
        r"const steps = document.querySelector('.steps'), lines = [...steps.querySelectorAll('tbody tr')];
        steps.open = true;
        const at = lines.findIndex(l => l.textContent.includes('aNRR_2')), [under, memory] = steps.querySelectorAll('pre');
        for (let i = 0; i <= at; i++) steps.querySelector('.run').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown' }));
        out.push(lines[at].className, under.textContent, lines.length + ' steps');
        out.push(document.querySelectorAll('svg .time').length + ' dot');
        lines[lines.length - 1].click();
        out.push(under.textContent, memory.textContent.includes('px on node 2: 1'));",
    );
    let said = reported(&seen(folder.path(), &html, &script));
    assert_eq!(
        said,
        [
            "done now",
            "P1: put(px, po)",
            "P1: z.count_P1.bcast({2})",
            "P2: get(pl, px, dp)",
            "27 steps",
            "1 dot",
            "nothing",
            "true"
        ]
    );
}

/// No two edges lie on each other, each has its ends at pills, and no two names cover each other.
fn edges_keep_apart_and_begin_and_end_at_pills() {
    let folder = tempfile::tempdir().unwrap();
    let script = telling(
        r"const pictures = [...document.querySelectorAll('.drawing svg')];
        for (const picture of pictures) {
          const pills = [...picture.querySelectorAll('.pill')].map(e => e.getBBox()), away = (v, from, length) => Math.max(from - v, 0, v - from - length);
          const edges = [...picture.querySelectorAll('path.edge')], near = p => Math.min(...pills.map(b => Math.hypot(away(p.x, b.x, b.width), away(p.y, b.y, b.height))));
          const off = edges.filter(e => [0, e.getTotalLength()].some(l => near(e.getPointAtLength(l)) > 10)).length;
          const courses = edges.map(e => [.25, .5, .75].map(t => e.getPointAtLength(t * e.getTotalLength())));
          const lie = (a, b) => a.every(p => b.some(q => Math.hypot(p.x - q.x, p.y - q.y) < 2));
          const same = courses.filter((a, i) => courses.slice(0, i).some(b => lie(a, b))).length;
          const numbers = [...picture.querySelectorAll('[data-step] circle')].map(c => [c.cx.baseVal.value, c.cy.baseVal.value]);
          const covered = numbers.filter(([x, y], i) => numbers.slice(0, i).some(([u, v]) => Math.hypot(x - u, y - v) < 16)).length;
          out.push([edges.length > 2, off, same, covered].join(' '));
        }",
    );
    for what in ["bal:no-fence", "rbl", "slock:no-fence", "nlock:no-rfence"] {
        let html = page(folder.path(), &[what]);
        let said = reported(&seen(folder.path(), &html, &script));
        assert!(!said.is_empty() && said.iter().all(|line| line == "true 0 0 0"), "{what}: {said:?}");
    }
}

fn long_lists_are_deflated_filtered_and_built_when_opened() {
    let folder = tempfile::tempdir().unwrap();
    let tests = folder.path().join("tests");
    std::fs::create_dir(&tests).unwrap();
    for i in 0..400 {
        let name = format!("t{i}");
        std::fs::write(tests.join(format!("{name}.litmus")), TEST.replacen("put-then-write", &name, 1)).unwrap();
    }
    let html = page(folder.path(), &[&tests.display().to_string()]);
    assert!(html.contains("application/octet-stream") && html.len() < 600_000, "{} bytes", html.len());
    let script = "setTimeout(() => {".to_owned()
        + &telling(
            r"const rows = () => document.querySelectorAll('tbody tr').length, find = document.querySelector('input[type=search]');
            out.push(rows() + ' rows, ' + document.querySelectorAll('details.item').length + ' results, ' + document.querySelectorAll('.drawing svg').length + ' pictures');
            find.value = 't39 tso'; find.dispatchEvent(new Event('input'));
            out.push(rows() + ' rows');
            const head = document.querySelector('th button'); head.click(); head.click();
            out.push(document.querySelector('tbody td').textContent);
            const one = document.getElementById('test-t104'); one.open = true; one.dispatchEvent(new Event('toggle'));
            out.push(one.querySelector('h2').textContent);",
        )
        + "}, 3000);";
    let said = reported(&seen(folder.path(), &html, &script));
    // t39 and t390 to t399; sorted backwards by name.
    assert_eq!(said, ["200 rows, 400 results, 0 pictures", "11 rows", "t399", "t104 (RDMA_TSO)"]);
}

fn the_playground_keeps_its_test_in_the_address() {
    let served = served(&[]);
    let folder = tempfile::tempdir().unwrap();
    let at = |hash: &str| browsed(folder.path(), &format!("http://localhost:{}/#{hash}", served.port));
    let test = "RDMA_TSO%20mine%20%7B%20x%401%20%3D%200%3B%20%7D%0A%20P1%401%20%3B%0A%20x%20%3A%3D%201%20%3B%0Aallowed%20(x%3D1)%0A";
    let dom = at(test);
    assert!(dom.contains("<h2>mine (RDMA_TSO)</h2>"), "{dom}");
    let barrier = "RDMA_WAIT b { barrier z = {P1}; }\n P1@1 ;\n bar(z) ;\nforbidden (true)\n";
    let implemented = answer(&served, &json!({ "test": barrier, "implemented": ["bal:no-fence"] }));
    assert!(implemented.contains("z.count_P1.write(1)"), "{implemented}");
    let no_such = at(
        "RDMA_TSO%20t%20%7B%20x%401%20%3D%200%3B%20%7D%0A%20P1%401%20%3B%0A%20x%20%3A%3D%201%20%3B%0A&implemented=nobody",
    );
    assert!(no_such.contains("no library nobody"), "{no_such}");
    assert!(at("RDMA%").contains("The address carries a test that is broken"));
    // An execution is drawn by the server when it is opened.
    let page = answer(&served, &json!({ "test": TEST, "draw": 0 }));
    assert!(page.contains("\"graph\":{"), "{page}");
    assert!(dom.contains("<optgroup label=\"Does a READ see my earlier WRITE?\">"), "{dom}");
    let herd = "X86_64 SB\n{ x=0; y=0; }\n P0 | P1 ;\n movl $1,(x) | movl $1,(y) ;\n movl (y),%ebx | movl (x),%ebx ;\nexists (0:rbx=0 /\\ 1:rbx=0)\n";
    let offered = answer(&served, &json!({ "test": herd }));
    assert!(offered.contains("\"offer\":\"RDMA_TSO SB"), "{offered}");
}

fn outcomes_of_core_rma_have_witnesses_too() {
    let folder = tempfile::tempdir().unwrap();
    let test = folder.path().join("test.litmus");
    let fig6 = "CORE_RMA fig6 { x@1 = 1; y@2 = 0; }\n P0@1 | P1@2 ;\n a := x | put(x, y) ;\n | y := get(x) ;\n | flush(1) ;\n | b := y ;\nforall (b=0)\n";
    std::fs::write(&test, fig6).unwrap();
    let html = page(folder.path(), &[&test.display().to_string()]);
    let dom = seen(folder.path(), &html, "document.querySelectorAll('details').forEach(d => { d.open = true; });");
    assert_eq!(count(&dom, DRAWN), 2 + 1, "two outcomes and one assertion");
    assert!(dom.contains("IR (core-rma)") && dom.contains("er read "), "{dom}");
}

fn each_outcome_of_a_litmus_test_has_a_witness() {
    let folder = tempfile::tempdir().unwrap();
    let test = folder.path().join("test.litmus");
    std::fs::write(&test, TEST).unwrap();
    let html = page(folder.path(), &[&test.display().to_string()]);
    let dom = seen(folder.path(), &html, "document.querySelectorAll('details').forEach(d => { d.open = true; });");
    let outcomes = count(&dom, "<summary>An execution with");
    assert_eq!(outcomes, 1, "{dom}");
    assert_eq!(count(&dom, DRAWN), outcomes + 2, "one for each outcome and each assertion");
    // The forbidden outcome has no execution: its program is drawn, with the cycle.
    assert!(dom.contains("aria-live=\"polite\">A cycle of "), "{dom}");
}

fn snapshots_of_executions_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let snapshots = concat!(env!("CARGO_MANIFEST_DIR"), "/../proofs/tests/snapshots/");
    let names = [
        "theorems__loco_theorem_4_2_bal__bal_execution.snap",
        "theorems__loco_theorem_4_2_bal__bal_concretisation.snap",
    ];
    let paths = names.map(|name| format!("{snapshots}{name}"));
    let html = page(folder.path(), &[&paths[0], &paths[1]]);
    let dom = seen(folder.path(), &html, "");
    assert_eq!(count(&dom, DRAWN), 1, "the second tells of no execution");
    assert!(dom.contains("BAR(z)") && dom.contains("g(BAR, aCR) ="), "{dom}");
}

fn the_page_solves_what_it_shows() {
    let served = served(&[]);
    let folder = tempfile::tempdir().unwrap();
    let dom = browsed(folder.path(), &format!("http://localhost:{}/", served.port));
    assert!(dom.contains("<span class=\"good\">Ok</span> allowed (z=1)"), "{dom}");
}

/// Returns the answer to a question of the page, as JSON.
fn answer(served: &Served, question: &serde_json::Value) -> String {
    let answer = ask(served, "POST", "/answer", &format!("localhost:{}", served.port), &question.to_string());
    answer.split_once("\r\n\r\n").expect("an answer").1.trim().to_owned()
}

/// Opens the playground from disk with this test, runs a script, and returns what it puts into `out`. Requests are
/// answered from here: as those about the test and its repair. The list `asked` has all questions of the page.
fn played(test: &str, script: &str) -> Vec<String> {
    played_by(&[], test, script)
}

/// Does the same with the page of a server that has these arguments.
fn played_by(args: &[&str], test: &str, script: &str) -> Vec<String> {
    let served = served(args);
    let folder = tempfile::tempdir().unwrap();
    let page = ask(&served, "GET", "/", &format!("localhost:{}", served.port), "");
    let html = page.split_once("\r\n\r\n").expect("a page").1;
    let [solved, repaired] = [false, true].map(|repair| answer(&served, &json!({ "test": test, "repair": repair })));
    let script = format!(
        "const asked = [], press = text => [...document.querySelectorAll('button')].find(b => b.textContent === text).click();\
         window.fetch = async (what, of) => {{ const q = JSON.parse(of.body); asked.push(q); return new Response(JSON.stringify(q.repair ? {repaired} : {solved}) + '\\n'); }};\
         const editor = () => document.querySelector('textarea'), after = ms => new Promise(done => setTimeout(done, ms));\
         (async () => {{ await after(300); editor().value = {test:?}; press('solve (Ctrl-Enter)'); await after(300); const out = []; try {{ {script} }} catch (e) {{ out.push(e.stack); }}\
           const printed = document.createElement('pre'); printed.id = 'printed'; printed.textContent = out.join('\\n'); document.body.append(printed); }})();"
    );
    reported(&seen(folder.path(), html, &script))
}

/// Presses the button "repair", and then the button of the first repair: the page puts the repair into the test.
fn the_page_puts_a_repair_into_the_test() {
    let script = "press('repair'); await after(300); press('put into the test'); await after(300);
        out.push(JSON.stringify(asked.map(q => [q.repair === true, q.test])));
        document.execCommand('undo'); out.push(JSON.stringify(editor().value));";
    let said = played(REUSED, script);
    let asked: Vec<(bool, String)> = serde_json::from_str(&said[0]).expect("questions");
    let (repair, last) = (&asked[asked.len() - 2], &asked[asked.len() - 1]);
    assert_eq!((repair.0, &*repair.1), (true, REUSED));
    assert!(!last.0 && last.1.contains("poll(2)") && last.1.contains("forbidden (z=1)"), "{}", last.1);
    assert_eq!(serde_json::from_str::<String>(&said[1]).expect("a text"), REUSED, "the editor undoes it");
    let solved = answer(&served(&[]), &json!({ "test": last.1 }));
    assert!(!solved.contains("\"holds\":false"), "{solved}");
}

/// A choice in a menu changes nothing before a button is pressed, and a replacement of the text can be undone. The address
/// carries every choice.
fn the_playground_loses_no_work() {
    let script = r"const menu = document.querySelector('select[aria-label=examples]'), before = editor().value;
        menu.value = '3'; menu.dispatchEvent(new Event('change')); await after(100);
        out.push(editor().value === before);
        press('show'); await after(300);
        out.push(editor().value !== before, document.querySelector('main > p strong').textContent);
        document.execCommand('undo'); out.push(editor().value === before);
        editor().value = before.replace('reused', 'mine');
        const over = document.querySelectorAll('.controls select')[1]; over.value = 'RDMA_SC';
        const by = document.querySelector('input[aria-label=implementations]'); by.value = 'bal:no-fence, sv';
        press('solve (Ctrl-Enter)'); await after(300);
        out.push(JSON.stringify([asked.at(-1).over, asked.at(-1).implemented]), location.hash.slice(0, 3));
        editor().value = 'something else'; over.value = ''; by.value = '';
        window.dispatchEvent(new PopStateEvent('popstate')); await after(300);
        out.push(editor().value.includes('mine'), over.value, by.value);
        out.push(document.querySelector('[role=status]').textContent);";
    let said = played(REUSED, script);
    let question = "Do I need a fence of the CPU before I post?";
    let head = ["true", "true", question, "true", r#"["RDMA_SC",["bal:no-fence","sv"]]"#, "#z=", "true", "RDMA_SC"];
    assert_eq!(said[..head.len()], head);
    assert_eq!(said[head.len()], "bal:no-fence, sv");
    assert_eq!(said[head.len() + 1], "reused: 2 outcomes; forbidden (z=1): No; allowed (z=0): Ok");
}

/// The whole editor: the tests above use the plain one, because the script of the editor is not beside their page.
fn the_editor_colours_marks_completes_and_undoes() {
    let served = served(&[]);
    let folder = tempfile::tempdir().unwrap();
    let get = |path: &str| {
        let answer = ask(&served, "GET", path, &format!("localhost:{}", served.port), "");
        answer.split_once("\r\n\r\n").expect("an answer").1.to_owned()
    };
    let begun = "RDMA_WAIT t\n{ svar s = 0; }\n P1@1 ;\n s.wr";
    let wrong = REUSED.replace("put(z, x)", "put(y, x)");
    let [completed, solved] = [json!({ "test": begun, "complete": begun.len() }), json!({ "test": REUSED })]
        .map(|question| answer(&served, &question));
    let refused = answer(&served, &json!({ "test": wrong }));
    let script = format!(
        r"window.fetch = async (_, of) => {{ const q = JSON.parse(of.body); return new Response(JSON.stringify(q.complete !== undefined ? {completed} : q.test === {wrong:?} ? {refused} : {solved}) + '\n'); }};
        const press = text => [...document.querySelectorAll('button')].find(b => b.textContent === text).click(), after = ms => new Promise(done => setTimeout(done, ms));
        const content = () => document.querySelector('.cm-content'), written = () => [...document.querySelectorAll('.cm-line')].map(l => l.textContent).join('\n');
        const key = (key, more) => content().dispatchEvent(new KeyboardEvent('keydown', {{ key, keyCode: key === 'Enter' ? 13 : 90, bubbles: true, cancelable: true, ...more }}));
        const write = of => {{ content().focus(); document.execCommand('selectAll'); document.execCommand('insertText', false, of); }};
        (async () => {{ const out = []; try {{
          write({REUSED:?}); await after(200);
          const of = word => getComputedStyle([...document.querySelectorAll('.cm-line span')].find(e => e.textContent === word)).color;
          document.body.style.color = 'var(--keyword)'; out.push(of('forbidden') === getComputedStyle(document.body).color, of('put') !== of('forbidden'), document.querySelectorAll('textarea').length);
          out.push(localStorage.getItem('mowgli.draft') === {REUSED:?});
          const menu = document.querySelector('select[aria-label=examples]'); menu.value = '3'; press('show'); await after(300);
          out.push(written().includes('reused')); key('z', {{ ctrlKey: true }}); await after(100); out.push(written().trim() === {REUSED:?}.trim());
          press('show'); await after(300); history.back(); await after(500); out.push(written().trim() === {REUSED:?}.trim());
          write({wrong:?}); await after(100); press('solve (Ctrl-Enter)'); await after(500); out.push(document.querySelector('.cm-lintRange-error').textContent, getSelection().toString());
          write({begun:?}); await after(1000); out.push([...document.querySelectorAll('.cm-tooltip-autocomplete li')].map(li => li.textContent).join()); key('Enter', {{}}); await after(200);
          out.push(written().split('\n').at(-1));
        }} catch (e) {{ out.push(e.stack); }}
        const printed = document.createElement('pre'); printed.id = 'printed'; printed.textContent = out.join('\n'); document.body.append(printed); }})();"
    );
    file(folder.path(), "editor.js", &get("/editor.js"));
    let said = reported(&seen(folder.path(), &get("/"), &script));
    let completed = "write(v)sv";
    assert_eq!(said, ["true", "true", "0", "true", "false", "true", "true", "y", "y", completed, " s.write(v)"]);
}

/// The search has no time, so a random run decides; the machine shows it step by step, and a link leads to each step.
fn runs_show_what_a_search_has_not_found() {
    let late =
        "RDMA_TSO late { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n x := 1 ;\nallowed (z=1)\nforbidden (z=9)\n";
    let (hurried, timed) = (served(&["--timeout", "0"]), served(&[]));
    let asked = |more: serde_json::Value| {
        let mut question = json!({ "test": late });
        question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answer(&hurried, &question)
    };
    // Zero seconds stop runs, too, so these answers are of a server with time.
    let of = |question: serde_json::Value| answer(&timed, &question);
    let runs = of(json!({ "test": late, "runs": 0 }));
    let parsed: serde_json::Value = serde_json::from_str(&runs).unwrap();
    let choices: Vec<usize> = serde_json::from_value(parsed["runs"]["seen"][0]["choices"].clone()).unwrap();
    assert!(parsed["runs"]["seen"].as_array().unwrap().len() == 1, "{runs}");
    let plays: Vec<String> =
        (0..=choices.len()).map(|n| of(json!({ "test": late, "play": { "choices": choices[..n] } }))).collect();
    let stopped = asked(json!({}));
    assert!(stopped.contains("\"stopped\":\"") && stopped.contains("\"holds\":null"), "{stopped}");
    let script = format!(
        r"const plays = [{}]; window.fetch = async (_, of) => {{ const q = JSON.parse(of.body); return new Response(JSON.stringify(q.play ? plays[q.play.choices.length] : q.runs !== undefined ? {runs} : {stopped}) + '\n'); }};
        press('solve (Ctrl-Enter)'); await after(500);
        out.push([...document.querySelectorAll('.item p')].map(p => p.textContent).filter(t => t.includes('(z=')).join(' ; '), document.querySelector('.item').textContent.includes('0 outcomes'));
        const details = document.querySelector('.machine-of'), said = () => details.querySelector('[aria-live]').textContent; details.open = true; await after(200);
        out.push(said().endsWith('The end: z=1.'), details.querySelectorAll('.controls')[1].children.length);
        const press2 = text => [...details.querySelectorAll('button')].find(b => b.textContent === text).click();
        press2('to the beginning'); out.push(said());
        const link = location.hash; press2('next'); await after(100); out.push(said().slice(0, 3), details.textContent.includes('z = 0'), link !== location.hash);
        press2('step back'); out.push(said().slice(0, 14));
        details.querySelectorAll('.controls')[1].children[0].click(); await after(200); out.push(said().slice(0, 2), details.querySelector('.machine').contains(document.activeElement));",
        plays.join(", ")
    );
    let said = played(late, &script);
    let seen = "Ok allowed (z=1): (z=1) can happen, seen in a random run ; Undecided forbidden (z=9)";
    assert_eq!(said[..4], [seen, "false", "true", "0"], "{said:?}");
    assert!(said[4].starts_with("0: P1: ") && said[4].ends_with("2 steps possible."), "{said:?}");
    assert_eq!(said[5..], ["1: ", "true", "true", "0: P1: Put(z, ", "1:", "true"]);
}

/// A link leads to the public address, and opens with every choice. Without an address the page says where a link works.
fn links_hold_all_that_is_chosen() {
    let copied = r"let link = ''; Object.defineProperty(navigator, 'clipboard', { value: { writeText: async text => { link = text; } } });
        const choose = (what, value) => { document.querySelector(`[aria-label='${what}']`).value = value; };
        choose('the model', 'RDMA_WAIT'); choose('the network', 'cxi'); choose('another model beside it', 'RDMA_SC'); choose('implementations', 'sv');
        press('copy link'); await after(300); const said = [...document.querySelectorAll('button')].find(b => b.textContent.startsWith('copied')).textContent;";
    let open = r"choose('the model', ''); choose('the network', ''); choose('another model beside it', ''); choose('implementations', ''); editor().value = 'x';
        history.replaceState(null, '', '#' + link.split('#')[1]); window.dispatchEvent(new PopStateEvent('popstate')); await after(400);
        out.push(link.split('#')[0], said, JSON.stringify(asked.at(-1).over + asked.at(-2).over), asked.at(-2).network, asked.at(-2).implemented, editor().value === asked.at(-1).test);";
    let public = ["--address", "https://example.org/mowgli/"];
    let said = played_by(&public, REUSED, &format!("{copied}{open}"));
    assert_eq!(said, ["https://example.org/mowgli/", "copied", r#""RDMA_SCRDMA_WAIT""#, "cxi", "sv", "true"]);
    let said = played(REUSED, &format!("{copied} out.push(said, link.startsWith('file:///'));"));
    assert_eq!(said, ["copied, for this machine only", "true"]);
}

/// Tabs, sentences and rows are used by the keyboard; a filter sees all rows; a screen of a phone has all of the page.
fn pages_are_used_by_keyboard_and_on_small_screens() {
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["bal:no-fence"]);
    let script = telling(
        r"const all = what => [...document.querySelectorAll(what)], key = (e, key) => e.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        key(all('[role=tab]')[0], 'ArrowRight');
        out.push(all('[role=tab]').map(tab => tab.ariaSelected + ' ' + tab.tabIndex).join(', '), document.activeElement === all('[role=tab]')[1]);
        key(document.activeElement, 'Home');
        all('.why li button')[1].click();
        out.push(document.querySelector('.sentence').textContent.slice(0, 5), all('.why li')[1].className);
        const frame = document.createElement('iframe'); frame.style.width = '390px'; frame.srcdoc = document.documentElement.outerHTML.replace(/<script>addEvent[^]*?<\/script>/, '');
        frame.onload = () => { const page = frame.contentDocument.documentElement; const seen = document.createElement('pre'); seen.id = 'phone'; seen.textContent = page.scrollWidth <= 390; document.body.append(seen); };
        document.body.append(frame);",
    );
    let dom = seen(folder.path(), &html, &script);
    assert_eq!(reported(&dom), ["false -1, true 0", "true", "2 of ", "now"]);
    assert!(dom.contains("<pre id=\"phone\">true</pre>"), "{dom}");
    let test = folder.path().join("ring.litmus");
    let row = |of: &dyn Fn(usize) -> String, between: &str| (0..8).map(of).collect::<Vec<_>>().join(between);
    let (words, heads) = (row(&|i| format!("x{i} = 0;"), " "), row(&|i| format!("P{i}"), " | "));
    let (writes, reads) = (row(&|i| format!("x{i} := 1"), " | "), row(&|i| format!("a{i} := x{}", (i + 1) % 8), " | "));
    std::fs::write(&test, format!("X86_TSO ring\n{{ {words} }}\n {heads} ;\n {writes} ;\n {reads} ;\n")).unwrap();
    let html = page(folder.path(), &[&test.display().to_string()]);
    let script = "setTimeout(() => {".to_owned()
        + &telling(
            r"const rows = () => document.querySelectorAll('tbody tr').length, find = document.querySelector('input[type=search]');
            out.push(rows());
            find.value = '1'; find.dispatchEvent(new Event('input'));
            out.push(document.querySelector('[aria-label=pages]').textContent);
            document.querySelector('th button').click(); document.querySelector('th button').click();
            out.push(document.querySelector('th').ariaSort, document.querySelector('tbody td').textContent);",
        )
        + "}, 3000);";
    let said = reported(&seen(folder.path(), &html, &script));
    assert_eq!(said, ["200", "before1 to 200 of 256after", "descending", "1"]);
}

/// The page says what made it, how many results are as they should be, and leaves only the others. Anchors are names.
fn a_report_has_totals_and_anchors_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let tests = folder.path().join("tests");
    std::fs::create_dir(&tests).unwrap();
    let (good, bad) = (TEST.replace("put-then-write", "good"), REUSED.replace("reused", "bad"));
    std::fs::write(tests.join("good.litmus"), good).unwrap();
    std::fs::write(tests.join("bad.litmus"), bad).unwrap();
    let html = page(folder.path(), &[&tests.display().to_string()]);
    let script = telling(
        r"const lines = [...document.querySelectorAll('.totals p')].map(p => p.textContent); out.push(...lines);
        out.push(document.querySelector('main code').textContent.startsWith('mowgli report '));
        const seen = () => [...document.querySelectorAll('section.item')].filter(e => e.offsetParent).map(e => e.id).join(', ');
        out.push(seen()); document.querySelector('.totals input').click(); out.push(seen());",
    );
    let said = reported(&seen(folder.path(), &html, &script));
    assert_eq!(said, ["2 tests: 1 as they should be, 1 not, 0 undecided", "true", "test-bad, test-good", "test-bad"]);
}

/// The pictures of the barrier's counterexample, of a forbidden outcome, and of stuck executions are LaTeX. A paper gives
/// a relation another look by its macro.
fn pictures_compile_in_latex() {
    let folder = tempfile::tempdir().unwrap();
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/litmus/papers");
    let picture = |name: &str, more: &[&str]| {
        let test = format!("{papers}/{name}.litmus");
        let drawn = tells(&[&["explain", &test, "--tikz"], more].concat(), 0, &[]);
        drawn.out
    };
    let barrier = picture("loco-fig22-three-node-barrier", &["--implemented", "bal:no-fence"]);
    let all = barrier.clone() + &picture("loco-fig13-ring", &["--assertion", "1"]) + &picture("tso-sb", &[]);
    assert_eq!(typeset(folder.path(), &all), Ok(()));
    assert_eq!(typeset(folder.path(), &format!("\\newcommand\\mowgliRf[3]{{}}\n{barrier}")), Ok(()));
    assert!(typeset(folder.path(), &format!("\\newcommand\\mowgliRf[3]{{\\undefined}}\n{barrier}")).is_err());
}

/// Every assertion of every test of the papers has a picture, in PDF by way of TikZ. Its pages are as large as the pictures.
fn pictures_of_all_papers_are_pdf() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/litmus/papers")).unwrap() {
        let test = entry.unwrap().path();
        if test.extension().is_none_or(|extension| extension != "litmus") {
            continue;
        }
        let pdf = folder.path().join(test.file_name().unwrap()).with_extension("pdf");
        let drawn = mowgli(&["explain", &test.display().to_string(), "--pdf", &pdf.display().to_string()]);
        assert_eq!((drawn.code, &*drawn.out), (0, ""), "{}: {}", test.display(), drawn.err);
        assert!(std::fs::read(&pdf).unwrap().starts_with(b"%PDF-"), "{}", pdf.display());
        count += 1;
    }
    assert!(count > 50, "{count} tests");
}

/// Serves nothing: holds the first connection until a second one comes. A page whose image is the first one has loaded when it
/// asks for the second.
fn held() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || listener.accept().and_then(|first| listener.accept().map(|second| (first, second))));
    port
}

/// The WebAssembly of the page, built from this checkout.
static SOLVER: LazyLock<String> = LazyLock::new(|| {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web");
    let args = [
        "rustc",
        "--profile",
        "web",
        "--target",
        "wasm32-unknown-unknown",
        "-p",
        "mowgli-web",
        "--crate-type",
        "cdylib",
        "--target-dir",
    ];
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let built = Command::new(cargo).args(args).arg(&target).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("wasm32-unknown-unknown/web/mowgli_web.wasm").display().to_string()
});

/// Writes the whole site.
fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    tells(&["site", "--solver", &SOLVER, "--out", &folder.path().display().to_string()], 0, &[]);
    folder
}

/// Opens a page of a site from disk, and returns what the script puts into `out`. The script may wait: `until` something
/// is true. The last line is the number of files that were loaded from elsewhere.
fn opened(site: &Path, page: &str, script: &str) -> Vec<String> {
    let port = held();
    let script = format!(
        "const out = [], press = text => {{ const b = [...document.querySelectorAll('button')].find(b => b.textContent === text); b.focus(); b.click(); }};
         const until = async what => {{ while (!what()) await new Promise(done => setTimeout(done, 20)); }};
         addEventListener('securitypolicyviolation', e => out.push(e.violatedDirective + ' refuses ' + e.blockedURI));
         const says = what => until(() => document.querySelector('main').textContent.includes(what));
         (async () => {{
           try {{ {script} }} catch (e) {{ out.push(e); }}
           const entries = performance.getEntriesByType('resource').map(e => e.name).filter(name => !name.includes('{port}'));
           out.push(entries.filter(name => !name.startsWith('blob:') && !name.startsWith('file:')).length);
           const printed = document.createElement('pre'); printed.id = 'printed'; printed.textContent = out.join('\\n'); document.body.append(printed);
           new Image().src = 'http://127.0.0.1:{port}/done';
         }})();"
    );
    let html = std::fs::read_to_string(site.join(page)).unwrap();
    let path = site.join(page).with_file_name("seen.html");
    let wait = format!("<img src=\"http://127.0.0.1:{port}/wait\"></body>");
    let html = html.replace("</body>", &wait).replacen("img-src", "img-src http://127.0.0.1:*", 1);
    std::fs::write(&path, with_script(&html, &script)).unwrap();
    let data = format!("--user-data-dir={}", site.join("profile").display());
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--timeout=120000", "--dump-dom", &data];
    let ran = Command::new(BROWSER.unwrap()).args(flags).arg(format!("file://{}", path.display())).output().unwrap();
    let dom = String::from_utf8_lossy(&ran.stdout).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    reported(&dom)
}

/// The playground solves, explains and repairs tests in the browser, and gives up what is cancelled.
fn the_playground_needs_no_server() {
    let site = site();
    let size = |name: &str| std::fs::metadata(site.path().join(name)).unwrap().len();
    assert!(size("index.html") < 150_000 && size("solver.js") < 2_000_000, "a web server sends three quarters");
    let html = std::fs::read_to_string(site.path().join("index.html")).unwrap();
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!html.contains(outside), "{outside}");
    }
    let script = format!(
        "const write = async text => {{ document.querySelector('.cm-content').focus(); document.execCommand('selectAll'); document.execCommand('insertText', false, text); await new Promise(done => setTimeout(done, 100)); }};
         await says('allowed (z=1)');
         await write({REUSED:?}); press('repair');
         await says('put into the test'); for (const d of document.querySelectorAll('.item details')) d.open = true;
         await new Promise(done => setTimeout(done, 300)); out.push(document.querySelectorAll('.drawing svg').length > 1);
         press('solve (Ctrl-Enter)'); press('cancel'); await says('Cancelled.'); out.push(document.activeElement.textContent);
         await write('RDMA_TSO t'); press('solve (Ctrl-Enter)'); await says('error[syntax]'); out.push('error');"
    );
    assert_eq!(opened(site.path(), "index.html", &script), ["true", "solve (Ctrl-Enter)", "error", "0"]);
}

/// A reader runs a test of the book, sees why its outcome is forbidden, and follows the link to the playground.
fn tests_of_the_book_are_run_explained_and_edited() {
    let site = site();
    let script = "
        const block = document.querySelectorAll('.litmus')[1], result = block.querySelector('.result');
        const press = text => [...block.querySelectorAll('button')].find(b => b.textContent === text).click();
        press('run'); await until(() => result.querySelector('table'));
        out.push(block.querySelector('[role=status]').textContent, result.querySelectorAll('details[open]').length);
        press('why'); await until(() => result.querySelector('details[open] svg'));
        out.push(document.activeElement.textContent, result.querySelector('.why ol').textContent.includes('put(z, x, d)'));
        press('run'); [...result.querySelectorAll('button')].find(b => b.textContent === 'cancel').click();
        await until(() => result.textContent === 'Cancelled.');
        out.push(decodeURIComponent(block.querySelector('a').href.split('index.html#')[1]) === block.querySelector('code').textContent);";
    let said = opened(site.path(), "weak.html", script);
    let status = "put-wait-write: 1 outcome; forbidden (z=1): Ok";
    assert_eq!(said, [status, "0", "Why: forbidden (z=1)", "true", "true", "0"]);
    let bare = std::fs::read_to_string(site.path().join("weak.html")).unwrap();
    assert!(!bare.contains("<button"), "a browser without scripts shows a plain page");
}

/// The browser answers each test of the book as the command does.
fn all_tests_of_the_book_have_their_outcomes_in_the_browser() {
    let site = site();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let script = "for (const block of document.querySelectorAll('.litmus')) {
            const status = block.querySelector('[role=status]'); block.querySelector('button').click();
            await until(() => status.textContent && status.textContent !== 'Solving.'); out.push(status.textContent);
        }";
    let mut count = 0;
    for page in std::fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        let tests = text.split("```litmus\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        let solved = tests.map(|text| {
            let test = parse("the test", text).unwrap();
            let outcomes = solve(&test, &[], Limits::default()).outcomes.len();
            let plural = if outcomes == 1 { "" } else { "s" };
            let holds = test.assertions.iter().map(|a| format!("; {} ({}): Ok", a.quantifier, a.text));
            format!("{}: {outcomes} outcome{plural}{}", test.name, holds.collect::<String>())
        });
        let expected: Vec<String> = solved.chain(["0".to_owned()]).collect();
        if expected.len() > 1 {
            let html = format!("{}.html", page.file_stem().unwrap().to_str().unwrap());
            assert_eq!(opened(site.path(), &html, script), expected, "{html}");
            count += expected.len() - 1;
        }
    }
    assert!(count >= 95, "{count} tests");
}

fn a_repair_is_shown_beside_the_counterexample() {
    let folder = tempfile::tempdir().unwrap();
    let test = folder.path().join("test.litmus");
    std::fs::write(&test, REUSED).unwrap();
    let html = page(folder.path(), &["slock:no-fence", &test.display().to_string(), "--repair"]);
    let dom = seen(folder.path(), &html, "");
    assert_eq!(count(&dom, "<h3>The least to insert</h3>"), 2, "{dom}");
    assert!(dom.contains("Rel: a global fence of"), "{dom}");
    assert_eq!(count(&dom, ">save the test with it</button>"), 2, "the bodies of a library are written by hand");
}

/// Every implementation that has a form in C, in every variant, compiles without a warning.
fn emitted_c_compiles() {
    let folder = tempfile::tempdir().unwrap();
    let (mut sources, mut refused) = (Vec::new(), Vec::new());
    for entry in catalogue() {
        for variant in &entry.variants {
            let name = format!("{}:{}", entry.name, variant.name);
            let out = folder.path().join(name.replace(':', "-"));
            let printed = mowgli(&["emit", "c", &name, "--out", &out.display().to_string()]);
            if printed.code == 2 {
                assert!(printed.err.starts_with("error[unsupported]"), "{name}: {}", printed.err);
                refused.push(name);
                continue;
            }
            let text = format!("#include \"{}.h\"\nint main(void) {{ return 0; }}\n", entry.name);
            sources.push((name, file(&out, "main.c", &text)));
        }
    }
    let is_published = |name: &&String| name.ends_with(":published");
    let refused: Vec<&String> = refused.iter().filter(is_published).collect();
    assert!(refused.is_empty(), "{refused:?}");
    assert!(sources.len() > 30, "{}", sources.len());
    for (name, source) in sources {
        let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"];
        let output = Command::new("cc").args(flags).arg(&source).output().expect("cc runs");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// C on standard output needs no file of ours beside it.
fn printed_c_compiles_alone() {
    let folder = tempfile::tempdir().unwrap();
    for entry in catalogue() {
        let printed = mowgli(&["emit", "c", entry.name]);
        if printed.code == 2 && printed.err.starts_with("error[unsupported]") {
            continue;
        }
        assert_eq!(printed.code, 0, "{}: {}", entry.name, printed.err);
        let source = file(folder.path(), "printed.c", &printed.out);
        let mut compiler = Command::new("cc");
        let output =
            compiler.args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", &source]).output().expect("cc runs");
        assert!(output.status.success(), "{}: {}", entry.name, String::from_utf8_lossy(&output.stderr));
    }
}

/// Returns the JSON object that `prove` prints, and its exit code.
fn proved(args: &[&str]) -> (serde_json::Value, Option<i32>) {
    let args = [&["prove", "--json"], args].concat();
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args).output().expect("the command runs");
    let line = String::from_utf8_lossy(&ran.stdout).into_owned();
    let reported =
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}{}", String::from_utf8_lossy(&ran.stderr)));
    (reported, ran.status.code())
}

/// SV is refuted on `cxi`, where the get of its fence may pass a put, and proved with the fence flag on that get.
fn repaired_bodies_are_proved_on_their_network() {
    assert_eq!(proved(&["sv", "--network", "cxi", "--timeout", "30"]).0["verdict"], "refuted");
    let bound = ["--threads", "2", "--nodes", "2", "--calls", "1"];
    let args = [&["networks", "sv", "--network", "cxi", "--repair", "--prove", "--json"], &bound[..]].concat();
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args).output().expect("the command runs");
    let cell: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let repair = &cell["repair"];
    assert_eq!(repair["insert"], serde_json::json!(["GF: the fence flag on Get of bot, bot"]), "{cell}");
    assert_eq!((repair["verdict"].as_str(), repair["proved"].as_str()), (Some("sound"), Some("proved")), "{cell}");
}

/// Programs in place of cvc5 and ethos: the proofs assume a statement of the question and claim that it is false. Such an ethos
/// accepts a proof only if the command demands one of false.
const CVC5: &str = r#"for question; do :; done
[ "$question" = --version ] && { echo "This is cvc5 of a test"; exit; }
assumed=$(sed -n 's/^(assert \(.*\))$/\1/p' "$question" | grep -v 'forall\|exists' | head -1)
printf 'unsat\n(\n(assume @p1 %s)\n(step @p2 false :rule contra :premises (@p1))\n)\n' "$assumed"
"#;
const ETHOS: &str = r#"case "$*" in *--require-proof-of-false*--include=rules.eo*) echo correct ;; *) echo incomplete ;; esac
"#;

/// The command demands a proof of false from ethos, and counts obligations beside leaves.
fn certificates_are_proofs_of_false() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("cvc5", CVC5), ("ethos", ETHOS)] {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!{}bin/sh\n{text}", std::path::MAIN_SEPARATOR)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let certificates = folder.path().join("certificates").display().to_string();
    let before = std::env::var("PATH").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mowgli"));
    command.args(["prove", "slock", "--certificates", &certificates]).env("MOWGLI_CPC", "rules.eo");
    let ran = command.env("PATH", format!("{}:{before}", folder.path().display())).output().expect("the command runs");
    let printed = String::from_utf8_lossy(&ran.stdout);
    let line = printed.lines().find(|line| line.contains("leaves")).unwrap_or_else(|| panic!("{printed}"));
    assert!(line.contains(" of 6") && !line.contains(" 0 checked") && !line.contains("rejected"), "{line}");
}

fn sv_is_proved_and_its_obligations_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (reported, code) = proved(&["sv", "--timeout", "30", "--emit", &folder.path().display().to_string()]);
    assert_eq!((reported["verdict"].as_str(), code), (Some("proved"), Some(0)), "{reported}");
    let obligations = reported["obligations"].as_array().unwrap();
    assert!(obligations.len() > 15 && obligations.iter().all(|o| o["result"] == "proved"), "{reported}");
    // An obligation that no solver was asked has no answers, but names the way in which it was closed.
    let (asked, closed): (Vec<_>, _) = obligations.iter().partition(|o| o["closed"] == "by a solver");
    assert!(asked.iter().all(|o| o["questions"] != 0 && o["answers"]["z3"] == "unsat" && o["witnessed"] == true));
    assert!(!closed.is_empty() && closed.iter().all(|o| o["answers"].as_object().unwrap().is_empty()), "{reported}");
    let definition = |o: &&serde_json::Value| o["closed"].as_str().is_some_and(|how| how.contains("by definition"));
    assert!(closed.iter().all(definition), "{reported}");
    // Each file has the questions of one obligation, and names the case splits. The solver gives the same answers about
    // the file alone.
    let mut files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), asked.len());
    for (file, obligation) in files.iter().zip(asked) {
        let text = std::fs::read_to_string(file).unwrap();
        let name = obligation["obligation"].as_str().unwrap();
        assert!(text.contains(&format!("; Obligation: {name}\n")), "{name}: {text}");
        let said = Command::new("z3").arg("-T:30").arg(file).output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout);
        assert!(said.lines().count() > 0 && said.lines().all(|line| line == "unsat"), "{}: {said}", file.display());
        assert_eq!(said.lines().count(), count(&text, "(check-sat)"), "{}", file.display());
    }
    let split = |file: &std::path::PathBuf| std::fs::read_to_string(file).unwrap().contains("; split: ");
    assert!(files.iter().any(split));
}

fn broken_variant_of_sv_is_refuted(variant: &str) {
    let (reported, code) = proved(&["sv", "--timeout", "2", "--search", "20", "--variant", variant]);
    assert_eq!((reported["verdict"].as_str(), code), (Some("refuted"), Some(0)), "{reported}");
    // The execution is shown; the client with a wrong outcome too, where there was time for it.
    assert!(reported["why"].as_str().is_some_and(|text| text.contains("Not locally sound")), "{reported}");
    assert!(!reported["open"].as_array().unwrap().is_empty(), "{reported}");
}

fn what_is_over_a_library_is_proved() {
    let (reported, code) = proved(&["slock", "--over", "wlock,sv"]);
    assert_eq!(
        (reported["library"].as_str(), reported["verdict"].as_str(), code),
        (Some("slock"), Some("proved"), Some(0))
    );
}

/// Asserts rows of the table of docs/networks.md. Some libraries are proved on a network, and SV is refuted on networks where `check`
/// refutes it.
fn proofs_are_over_the_model_of_the_network(are_proved: &[(&str, &str)], sv_is_refuted: &[&str]) {
    let on = |library: &str, network: &str| {
        let (found, code) = proved(&[library, "--network", network, "--timeout", "20", "--search", "5"]);
        assert_eq!((found["library"].as_str(), found["network"].as_str()), (Some(library), Some(network)), "{found}");
        (found["verdict"].as_str().expect("a word").to_owned(), code)
    };
    for (library, network) in are_proved {
        assert_eq!(on(library, network), ("proved".to_owned(), Some(0)), "{library} {network}");
    }
    for network in sv_is_refuted {
        assert_eq!(on("sv", network), ("refuted".to_owned(), Some(1)), "{network}");
    }
    is_bad(&["prove", "robust-tso", "--network", "cxi"], &["the network of the papers, rc"]);
}

fn what_cannot_be_proved_is_named() {
    let (reported, code) = proved(&["kvstore", "--search", "1"]);
    assert_eq!((reported["verdict"].as_str(), code), (Some("undecided"), Some(3)), "{reported}");
    let why =
        "no template of Insert: it goes through reversed((0) \\ {int(key)}), which is no set of the call (store.rs:";
    let is_named = |open: &serde_json::Value| open.as_str().is_some_and(|open| open.starts_with(why));
    assert!(reported["open"].as_array().unwrap().iter().any(is_named), "{reported}");
    let obligations = reported["obligations"].as_array().unwrap();
    assert!(
        obligations.len() == 27 && obligations.iter().all(|o| o["result"] == "open" && o["why"].is_string()),
        "{reported}"
    );
}

fn open_obligations_are_counted() {
    let (reported, code) = proved(&["rbl", "--variant", "fenced", "--search", "1"]);
    assert_eq!((reported["verdict"].as_str(), code), (Some("undecided"), Some(3)), "{reported}");
    let results = reported["obligations"].as_array().unwrap().iter().map(|o| o["result"].as_str().unwrap());
    let (shown, open): (Vec<&str>, _) = results.partition(|result| *result == "proved");
    assert_eq!((shown.len(), open.len()), (3, 5), "{reported}");
}

/// Returns the blocks of C on a page: the one with the declarations, and those that use them.
fn fragments(page: &str) -> (&str, Vec<&str>) {
    let blocks = page.split("```c\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let (declarations, fragments): (Vec<&str>, _) = blocks.partition(|block| block.starts_with("#include"));
    (declarations[0], fragments)
}

/// Each fragment is the body of a function behind the declarations.
fn the_c_of_the_book_compiles() {
    let (declarations, fragments) = fragments(include_str!("../../docs/questions.md"));
    let program = |fragment: &str| format!("{declarations}\nvoid fragment(void)\n{{\n{fragment}}}\n");
    for fragment in &fragments {
        assert!(compiles(&program(fragment)), "this does not compile:\n{fragment}");
    }
    assert!(fragments.len() >= 15, "{} fragments", fragments.len());
    let fenced = fragments.iter().find(|f| f.contains("IBV_SEND_FENCE")).expect("a fence");
    assert!(!compiles(&program(&fenced.replace("IBV_SEND_FENCE", "IBV_SEND_FENCED"))), "there is no such flag");
}
