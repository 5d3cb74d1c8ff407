//! Pages in a browser with their own server: a proxy before the server adds a script to the page.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, mpsc};
use std::time::Duration;

use libtest_mimic::Trial;
use miniz_oxide::deflate::compress_to_vec;
use sha2::{Digest as _, Sha256};

use super::ask::ask;
use super::needs::{Layer, Need, trial};
use super::page::page;
use super::ran::{file, tells};
use super::served::{Served, served};
use super::{BROWSER, CHROMIUM, REUSED, TEST, WASM, site, with_script};

pub fn trials() -> Vec<Trial> {
    let of = |name: &'static str, need: Need, test: fn()| trial(name, Layer::Long, need, test);
    vec![
        of("the_site_is_small_quick_and_silent", WASM, the_site_is_small_quick_and_silent),
        of("outcomes_appear_while_the_search_runs", WASM, outcomes_appear_while_the_search_runs),
        of("first_tasks_take_few_actions", WASM, first_tasks_take_few_actions),
        of("examples_have_their_other_versions_beside_them", CHROMIUM, examples_have_their_other_versions_beside_them),
        of("axe_has_no_finding_on_the_playground", AXE, axe_has_no_finding_on_the_playground),
        of("axe_has_no_finding_on_a_report", AXE, axe_has_no_finding_on_a_report),
        of("axe_has_no_finding_on_a_site", AXE, axe_has_no_finding_on_a_site),
        of(
            "the_machine_plays_goes_to_outcomes_and_is_linked",
            CHROMIUM,
            the_machine_plays_goes_to_outcomes_and_is_linked,
        ),
        of("answers_come_and_are_read_by_the_keyboard", CHROMIUM, answers_come_and_are_read_by_the_keyboard),
        of("answers_are_about_the_implementation_that_ran", CHROMIUM, answers_are_about_the_implementation_that_ran),
        of(
            "comments_change_no_model_and_links_are_of_the_text",
            CHROMIUM,
            comments_change_no_model_and_links_are_of_the_text,
        ),
        of("saved_pictures_are_those_of_the_light_theme", CHROMIUM, saved_pictures_are_those_of_the_light_theme),
        of("pictures_are_dark_in_the_dark_theme", CHROMIUM, pictures_are_dark_in_the_dark_theme),
        of("wide_pictures_fit_and_have_a_full_size", CHROMIUM, wide_pictures_fit_and_have_a_full_size),
    ]
}

/// The colours that a reader prefers, as the browser counts them.
#[derive(Clone, Copy)]
enum Theme {
    Dark,
    Light,
}

/// Functions for scripts. They wait until something is true, press buttons and keys, and choose.
const HELPERS: &str = r"
    const all = what => [...document.querySelectorAll(what)], pause = ms => new Promise(done => setTimeout(done, ms));
    const until = async what => { for (let i = 0; !what(); i++) { if (i > 1000) throw new Error('never: ' + what); await pause(20); } };
    const says = what => until(() => document.querySelector('main').textContent.includes(what));
    const button = text => all('button').find(b => b.textContent === text), press = text => { button(text).focus(); button(text).click(); };
    const key = (e, key, more) => e.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));
    const choose = (what, value) => { const e = document.querySelector(`[aria-label='${what}']`); e.value = value; e.dispatchEvent(new Event('change')); };
    const solve = async () => { press('solve (Ctrl-Enter)'); await until(() => !button('cancel')); };
    const write = async text => { document.querySelector('.cm-content').focus(); document.execCommand('selectAll'); document.execCommand('insertText', false, text); await pause(100); };
    addEventListener('securitypolicyviolation', e => out.push(e.violatedDirective + ' refuses ' + e.blockedURI));";

/// The pages that the proxy shows.
#[derive(Clone, Copy)]
enum Pages<'a> {
    Server(&'a Served),
    /// A folder as a web server shows it.
    Folder(&'a Path),
}

impl Pages<'_> {
    /// Returns the answer to a request, its head too.
    fn answer(self, method: &str, path: &str, body: &str) -> String {
        let folder = match self {
            Self::Server(served) => return ask(served, method, path, &format!("localhost:{}", served.port), body),
            Self::Folder(folder) => folder,
        };
        let Ok(text) = std::fs::read_to_string(folder.join(&path[1..])) else {
            return "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n".to_owned();
        };
        let kind = match path.rsplit('.').next() {
            Some("js") => "text/javascript",
            Some("css") => "text/css",
            Some("svg") => "image/svg+xml",
            _ => "text/html",
        };
        // The script sends its result to the proxy.
        let text = text.replacen("default-src 'none'", "default-src 'none'; connect-src 'self'", 1);
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}; charset=utf-8\r\nConnection: close\r\n\r\n{text}")
    }
}

/// Opens the page at a path, which may have a fragment, runs a script, and returns what it puts into `out`. The script may
/// wait.
fn live(pages: Pages<'_>, theme: Theme, at_first: &str, script: &str) -> Vec<String> {
    let first = at_first.split('#').next().expect("the first part");
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let at = listener.local_addr().expect("an address");
    let script = format!(
        "const out = []; {HELPERS} (async () => {{ try {{ {script} }} catch (e) {{ out.push(e.stack); }}
         fetch('/printed', {{ method: 'POST', body: JSON.stringify(out) }}); }})();"
    );
    let folder = tempfile::tempdir().unwrap();
    let mut browser = Command::new(BROWSER.expect("there is a Chromium"));
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1920,1080"]);
    browser.arg(format!("--user-data-dir={}", folder.path().display()));
    browser.arg(format!("--blink-settings=preferredColorScheme={}", theme as u8));
    let mut browser = browser.arg(format!("http://{at}{at_first}")).stderr(Stdio::null()).spawn().expect("it starts");
    let (print, printed) = mpsc::channel();
    // The proxy ends at the connection after the one that brings the result.
    let open = Mutex::new(Some(print));
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            for mut stream in listener.incoming().map(|stream| stream.expect("a connection")) {
                let Some(print) = open.lock().expect("no thread panics with it").clone() else { return };
                let script = &script;
                scope.spawn(move || {
                    let Some((method, path, body)) = request(&mut stream) else { return };
                    if path == "/printed" {
                        let _ = print.send(body);
                        return;
                    }
                    let answer = pages.answer(&method, &path, &body);
                    let answer = if path == first { with_script(&answer, script) } else { answer };
                    // The script has made the page longer. A browser that cancels has gone.
                    let _ = stream.write_all(answer.replacen("Content-Length", "X-Length", 1).as_bytes());
                });
            }
        });
        let said = printed.recv_timeout(Duration::from_secs(60));
        let _ = browser.kill().and_then(|()| browser.wait());
        *open.lock().expect("no thread panics with it") = None;
        drop(TcpStream::connect(at));
        said
    });
    let out: Vec<serde_json::Value> = serde_json::from_str(&said.expect("the script ends")).expect("a list");
    out.iter().map(|said| said.as_str().map_or_else(|| said.to_string(), str::to_owned)).collect()
}

/// Reads a request: its method, path and body. Nothing comes from a client that has gone.
fn request(stream: &mut TcpStream) -> Option<(String, String, String)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split_once("Content-Length: ").and_then(|(_, rest)| rest.lines().next());
            if body.len() >= length.map_or(0, |length| length.parse().expect("a number")) {
                let mut words = head.split(' ').map(str::to_owned);
                return Some((words.next()?, words.next()?, body.to_owned()));
            }
        }
        let mut more = [0; 4096];
        let length = stream.read(&mut more).ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&more[..length]);
    }
}

/// The axe-core of the registry of npm, for tests only: its licence, MPL-2.0, is not that of the project.
const AXE: Need = Need {
    tool: "Chromium, npm and its registry",
    in_ci: false,
    missing: || {
        if BROWSER.is_none() {
            return Some("there is no Chromium".to_owned());
        }
        AXE_SCRIPT.as_ref().err().cloned()
    },
};

const AXE_VERSION: &str = "axe-core@4.10.3";
const AXE_DIGEST: &str = "880970c081707360e64f34cea25ff91892f5bc95675b0776925b9709dd8a68bb";

/// The script of axe-core, or the reason why it is not there. One download serves all later runs.
static AXE_SCRIPT: LazyLock<Result<String, String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let script = folder.join("node_modules/axe-core/axe.min.js");
    if !script.exists() {
        let args = [
            "install",
            "--ignore-scripts",
            "--no-save",
            "--fetch-retries=0",
            "--prefix",
            &folder.display().to_string(),
            AXE_VERSION,
        ];
        let npm = Command::new("npm").args(args).output().map_err(|e| format!("npm: {e}"))?;
        if !npm.status.success() {
            return Err(String::from_utf8_lossy(&npm.stderr).lines().take(2).collect::<Vec<_>>().join(", "));
        }
    }
    let text = std::fs::read_to_string(&script).map_err(|e| e.to_string())?;
    let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, AXE_DIGEST, "{} is not the script of {AXE_VERSION}", script.display());
    Ok(text)
});

/// Checks a page with axe-core, and puts its findings into `out`, each with the elements that it is about.
fn axe() -> String {
    format!(
        r"{};
        const looked = async where => {{
          const found = await axe.run(document, {{ resultTypes: ['violations'] }});
          for (const v of found.violations) for (const n of v.nodes) out.push(`${{where}}: ${{v.id}}: ${{n.html.slice(0, 160)}} ${{n.any.concat(n.all, n.none).map(c => c.message).join('; ')}}`);
        }};",
        AXE_SCRIPT.as_ref().expect("it is there")
    )
}

/// Opens a page in both themes. The script checks it with axe-core.
fn is_accessible(pages: Pages<'_>, path: &str, script: &str) {
    for theme in [Theme::Light, Theme::Dark] {
        let script = format!("{}; out.push(matchMedia('(prefers-color-scheme: dark)').matches); {script}", axe());
        let said = live(pages, theme, path, &script);
        assert_eq!(said, [matches!(theme, Theme::Dark).to_string()], "{path}");
    }
}

fn axe_has_no_finding_on_the_playground() {
    let script = format!(
        r"await says('allowed (z=1)'); await looked('the first page');
        await write({REUSED:?}); choose('another model beside it', 'RDMA_SC'); await says('only over RDMA_SC'); await looked('two models');
        choose('another model beside it', ''); press('repair'); await says('put into the test'); await looked('a repair');
        await write({TEST:?}); await solve(); for (const d of all('details')) d.open = true; await says('possible.'); await pause(500); await looked('everything open');
        press('next edge'); all('.steps tbody tr')[0].click(); press('play'); await pause(1500); press('pause'); await looked('a step of each');
        press('solve (Ctrl-Enter)'); await pause(0); await looked('while it is solved'); await says('executions');
        await write('RDMA_TSO t {{'); await solve(); await pause(300); await looked('an error');
        await write('RDMA_WAIT t\n{{ svar s = 0; }}\n P1@1 ;\n s.wr'); await until(() => all('.cm-tooltip-autocomplete li').length); await looked('completions');"
    );
    is_accessible(Pages::Server(&served(&[])), "/", &script);
}

fn axe_has_no_finding_on_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let (wrong, test) = (file(folder.path(), "a.litmus", REUSED), file(folder.path(), "b.litmus", TEST));
    page(folder.path(), &["bal:no-fence", &wrong, &test, "--repair"]);
    let script = "for (const d of all('details')) d.open = true; await pause(500); await looked('everything open');
        press('next edge'); all('[role=tab]').at(-1).click(); document.querySelector('.totals input').click(); await looked('failures only');";
    is_accessible(Pages::Folder(folder.path()), "/page/index.html", script);
}

fn axe_has_no_finding_on_a_site() {
    let (folder, site) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let solver = file(folder.path(), "a.wasm", "\0asm");
    let args = ["site", "--solver", &solver, "--out", &site.path().display().to_string()];
    tells(&[&args[..], &["--report", "--networks", "--only", "slock,spinlock"]].concat(), 0, &[]);
    for page in ["index", "book", "weak", "questions", "models", "grammar", "report/index", "networks/index"] {
        is_accessible(
            Pages::Folder(site.path()),
            &format!("/{page}.html"),
            "await pause(200); await looked('the page');",
        );
    }
}

/// A run goes on by itself until it is paused, and to a chosen outcome. A link opens the machine at the step.
fn the_machine_plays_goes_to_outcomes_and_is_linked() {
    let served = served(&[]);
    let machine =
        "const machine = all('.machine-of').at(-1), said = () => machine.querySelector('[aria-live]').textContent;";
    let script = format!(
        r"await write({REUSED:?}); await solve(); {machine}
        machine.open = true; await until(() => said && machine.querySelector('[aria-live]') && said());
        press('play'); await until(() => said().startsWith('1: ')); press('pause');
        const paused = said(); await pause(1500); out.push(said() === paused, button('pause') === undefined);
        for (const value of ['0', '1']) {{
          press('to the beginning'); choose('an outcome to go to', value); press('take me to'); await until(() => said().includes(' lead to '));
          const wanted = document.querySelector('[aria-label=\'an outcome to go to\']').selectedOptions[0].textContent;
          out.push(said().includes(`lead to ${{wanted}}: next goes on`));
          for (let i = 0; i < 9; i++) press('next');
          out.push(said().endsWith(`The end: ${{wanted}}.`));
        }}
        press('step back'); await pause(100); out.push(said().split('.')[0], location.hash);"
    );
    let said = live(Pages::Server(&served), Theme::Light, "/", &script);
    let [.., step, hash] = &said[..] else { panic!("{said:?}") };
    assert_eq!(said[..said.len() - 2], ["true"; 6], "{said:?}");
    let script = format!("await says('possible.'); {machine} out.push(machine.open, said().split('.')[0]);");
    let linked = live(Pages::Server(&served), Theme::Light, &format!("/{hash}"), &script);
    assert_eq!(linked, ["true", step]);
}

/// Ctrl and Enter solve. Arrows go round the cycle and through the run, and the focus stays where the reader was.
fn answers_come_and_are_read_by_the_keyboard() {
    let script = format!(
        r"await write({TEST:?}); key(document.querySelector('.cm-content'), 'Enter', {{ ctrlKey: true }}); await until(() => document.querySelector('[role=status]').textContent.startsWith('put-then-write'));
        all('.item > details')[0].open = true; await until(() => all('.why li').length);
        const picture = document.querySelector('.drawing svg'), sentence = () => document.querySelector('.sentence').textContent.split(' ').slice(0, 3).join(' ');
        picture.focus(); key(picture, 'ArrowRight'); key(picture, 'ArrowDown'); key(picture, 'ArrowLeft'); out.push(sentence(), document.activeElement === picture);
        const second = all('.why li button')[1]; second.focus(); second.click(); out.push(sentence(), document.activeElement === second);
        all('.item > details')[1].open = true; await until(() => all('.run').length);
        const run = all('.run').at(-1); run.closest('details').open = true; key(run, 'ArrowDown'); key(run, 'ArrowDown'); out.push(run.querySelector('[role=status]').textContent.split(':')[0]);
        key(run, 'ArrowUp'); out.push(run.querySelector('[role=status]').textContent.split(':')[0]);
        press('solve (Ctrl-Enter)'); press('cancel'); await says('Cancelled.'); out.push(document.activeElement.textContent, document.querySelector('[role=status]').textContent);"
    );
    let said = live(Pages::Server(&served(&[])), Theme::Light, "/", &script);
    assert_eq!(
        said,
        ["1 of 4:", "true", "2 of 4:", "true", "Step 2 of 5", "Step 1 of 5", "solve (Ctrl-Enter)", "Cancelled."]
    );
}

/// Titles, reasons and repairs are those of the implementation in use. The page names an implementation that is not used,
/// and a model without a machine.
fn answers_are_about_the_implementation_that_ran() {
    let script = r"const item = () => document.querySelector('.item'), by = document.querySelector('[aria-label=implementations]');
        choose('examples', all('option').find(o => o.textContent === 'barrier-without-its-fence').value); press('show'); await until(() => item() && item().querySelector('h2').textContent.startsWith('loco'));
        out.push(by.value);
        by.value = 'bal:no-fence, sv'; press('repair'); await until(() => !button('cancel'));
        out.push(item().querySelector('h2').textContent, item().querySelector('p .bad').parentNode.textContent);
        out.push(item().textContent.includes('nothing has to be inserted'), item().textContent.includes('`mowgli repair bal --variant no-fence` repairs the body'));
        const why = all('.item > details')[0]; why.open = true; await until(() => why.querySelector('svg'));
        out.push(why.querySelector('summary').textContent, why.querySelector('svg title').textContent, [...why.querySelectorAll('svg text')].map(t => t.textContent).find(t => t.startsWith('a := ')));
        by.value = 'sv'; await solve(); out.push(item().textContent.includes('sv changes nothing: the test has no object of this library.'));
        by.value = ''; await solve(); out.push(all('.machine-of').length, item().textContent.includes('RDMA_WAIT is defined by axioms and has no machine to play.'));
        await write('TEST'); by.value = 'sv'; await solve(); out.push(all('.machine-of').length);"
        .replace("'TEST'", &format!("{TEST:?}"));
    let said = live(Pages::Server(&served(&[])), Theme::Light, "/", &script);
    let head = [
        "loco-fig22-three-node-barrier (RDMA_WAIT, implemented by bal:no-fence, sv)",
        "No forbidden (a=0): (a=0) can happen",
    ];
    assert_eq!((&*said[0], &said[1..3]), ("bal:no-fence", &head.map(str::to_owned)[..]));
    let why =
        ["Why: forbidden (a=0)", "loco-fig22-three-node-barrier: (a=0) is possible by bal:no-fence, sv", "a := l  (0)"];
    assert_eq!(said[3..], [&["false", "true"][..], &why, &["true", "0", "true", "1"]].concat());
}

/// An example of a question keeps the question and its short answer on screen, with its other version beside the editor.
fn examples_have_their_other_versions_beside_them() {
    let script = r"const written = () => all('.cm-line').map(l => l.textContent).join('\n'), box = e => e.getBoundingClientRect();
        choose('examples', all('option').find(o => o.textContent === 'immediate').value); press('show'); await until(() => written().includes(' immediate\n'));
        out.push(document.querySelector('main > p strong').textContent, document.querySelector('main > p').textContent.includes(']('), all('button').filter(b => b.textContent.startsWith('show ')).map(b => b.textContent).join());
        const editor = document.querySelector('.editor'), other = button('show immediate-by-another-connection').parentNode;
        out.push(box(other).left >= box(editor).right, box(other).top < box(editor).bottom);
        press('show immediate-by-another-connection'); await until(() => written().includes('immediate-by-another-connection')); out.push(button('show immediate') !== undefined);
        out.push(document.querySelector('main > p').hidden); await write('TEST'); out.push(document.querySelector('main > p').hidden, button('show immediate') === undefined || button('show immediate').offsetParent === null);"
        .replace("'TEST'", &format!("{TEST:?}"));
    let said = live(Pages::Server(&served(&[])), Theme::Light, "/", &script);
    let question = "What does a WRITE with immediate data change?";
    let other = "show immediate-by-another-connection";
    assert_eq!(said, [question, "false", other, "true", "true", "true", "false", "true", "true"]);
}

/// A web server that only has files is enough. What the playground loads is small once it is compressed, its first answer
/// comes soon, and afterwards it asks nobody.
fn the_site_is_small_quick_and_silent() {
    let site = site();
    let files = ["index.html", "editor.js", "solver.js"].map(|name| std::fs::read(site.path().join(name)).unwrap());
    let size: usize = files.iter().map(|file| compress_to_vec(file, 6).len()).sum();
    let script = format!(
        r"const asked = () => performance.getEntriesByType('resource').filter(e => !e.name.startsWith('blob:')).length;
        await says('allowed (z=1)'); out.push(Math.round(performance.now())); const before = asked();
        await write({TEST:?}); await solve(); press('repair'); await until(() => !button('cancel')); for (const d of all('details')) d.open = true; await says('possible.');
        out.push(asked() - before);"
    );
    let said = live(Pages::Folder(site.path()), Theme::Light, "/index.html", &script);
    eprintln!("{size} bytes, first answer after {} ms", said[0]);
    assert!(size < 1_760_000, "{size} bytes");
    assert!(said[0].parse::<u32>().expect("milliseconds") < 5000, "a second where nothing else runs: {said:?}");
    assert_eq!(said[1..], ["0"]);
}

/// Outcomes appear while the search runs, one of them decides an assertion, and cancelling keeps them on the page.
fn outcomes_appear_while_the_search_runs() {
    let row = |of: &dyn Fn(usize) -> String, between: &str| (0..6).map(of).collect::<Vec<_>>().join(between);
    let (words, heads) = (row(&|i| format!("x{i}@{} = 0;", i + 1), " "), row(&|i| format!("P{i}@{}", i + 1), " | "));
    let puts = |by: usize| row(&|i| format!("put(x{}, x{i})", (i + by) % 6), " | ");
    let (writes, reads) = (row(&|i| format!("x{i} := {}", i + 1), " | "), row(&|i| format!("b{i} := x{i}"), " | "));
    let test = format!(
        "RDMA_TSO six\n{{ {words} }}\n {heads} ;\n {writes} ;\n {} ;\n {} ;\n {reads} ;\nallowed (b0=1)\n",
        puts(1),
        puts(2)
    );
    let script = format!(
        r"await says('allowed (z=1)'); await write({test:?}); press('solve (Ctrl-Enter)');
        const main = () => document.querySelector('main').textContent, found = () => Number((main().match(/(\d+) outcomes? so far/) || [0, 0])[1]);
        await until(() => found() > 1); out.push(main().includes('the search still runs, so there may be more'), main().includes('Ok allowed (b0=1): '), button('cancel') !== undefined);
        press('cancel'); await says('Cancelled.'); out.push(found() > 1, main().includes('the search did not end, so there may be more'), main().includes('0 outcomes'));"
    );
    let said = live(Pages::Folder(site().path()), Theme::Light, "/index.html", &script);
    assert_eq!(said, ["true", "true", "true", "true", "true", "false"]);
}

/// Four tasks of somebody who sees the page for the first time, each with its actions, on a site from files. They ask
/// whether a completed PUT is visible, and why the barrier without its fence is wrong. They write a test of three nodes, and
/// see a run step by step.
fn first_tasks_take_few_actions() {
    let script = r"await says('allowed (z=1)');
        let actions = 0, begun = 0;
        const act = what => { actions++; what(); }, task = async (what, done) => { actions = 0; begun = performance.now(); what(); await until(done); out.push(actions); times.push(Math.round(performance.now() - begun)); };
        const times = [], open = text => all('summary').find(s => s.textContent.startsWith(text)).click(), main = () => document.querySelector('main').textContent;
        const example = name => { act(() => choose('examples', all('option').find(o => o.textContent === name).value)); act(() => press('show')); };
        await task(() => example('complete-and-not-visible'), () => main().includes('No. It means that the source was read') && main().includes('b=0) can happen') && !button('cancel'));
        await task(() => example('barrier-without-its-fence'), () => all('.why li').length && all('.drawing svg text').some(t => t.textContent.includes('aGF_2: promised, missing')));
        out.push(document.querySelector('.others').textContent.includes('implemented by bal'));
        await task(() => { act(() => open('how a test is written')); act(() => press('write this test')); }, () => main().includes('three-nodes (RDMA_TSO)') && !button('cancel'));
        out.push(main().includes('Ok allowed (b=1)'), document.querySelector('[aria-label=implementations]').value);
        await task(() => { act(() => open('Step by step')); }, () => button('next') && all('.machine .sentence')[0].textContent);
        await task(() => { act(() => press('next')); }, () => all('.machine .sentence')[0].textContent.startsWith('1: '));
        out.push('times ' + times.join());";
    let said = live(Pages::Folder(site().path()), Theme::Light, "/index.html", script);
    eprintln!("milliseconds for each task: {}", said.last().expect("times"));
    assert_eq!(said[..said.len() - 1], ["2", "2", "true", "2", "true", "", "1", "1"], "{said:?}");
}

/// The model is read by the parser. A link and a file have the text as it is written, solved or not.
fn comments_change_no_model_and_links_are_of_the_text() {
    let script = format!(
        r"const saved = []; HTMLAnchorElement.prototype.click = function () {{ saved.push(this.download); }};
        let link = ''; Object.defineProperty(navigator, 'clipboard', {{ value: {{ writeText: async text => {{ link = text; }} }} }});
        await write('// RDMA_WAIT is not its model\n' + {TEST:?}); choose('another model beside it', 'RDMA_SC'); await until(() => !button('cancel'));
        out.push(all('.item.difference strong').map(e => e.textContent).join());
        choose('another model beside it', ''); choose('the model', 'RDMA_SC'); await until(() => !button('cancel')); out.push(document.querySelector('.item h2').textContent);
        press('save'); out.push(saved[0]);
        await write({REUSED:?}); press('copy link'); await until(() => link); out.push(link);"
    );
    let served = served(&[]);
    let said = live(Pages::Server(&served), Theme::Light, "/", &script);
    let link = said.last().expect("a link").split_once('#').expect("a fragment").1;
    let opened = live(
        Pages::Server(&served),
        Theme::Light,
        &format!("/#{link}"),
        "await until(() => document.querySelector('.item h2')); out.push(document.querySelector('.item h2').textContent);",
    );
    assert_eq!(
        said[..3],
        ["only over RDMA_TSO: ,only over RDMA_SC: ", "put-then-write (RDMA_SC)", "put-then-write.litmus"]
    );
    assert_eq!(opened, ["reused (RDMA_SC)"]);
}

/// A picture that is saved in a dark browser, while a step is marked, is the plain picture on a white ground.
fn saved_pictures_are_those_of_the_light_theme() {
    let script = format!(
        r"await write({TEST:?}); await solve(); all('.item > details')[0].open = true; await until(() => all('.why li').length);
        let saved = null; URL.createObjectURL = blob => {{ saved = blob; return '#'; }};
        press('next edge'); press('save as SVG'); const text = await saved.text();
        out.push(document.querySelector('svg .now') === null, /(now|hover)\W/.test(text), text.includes('walked'));
        const picture = new Image(); picture.src = 'data:image/svg+xml,' + encodeURIComponent(text); await picture.decode();
        const canvas = document.createElement('canvas'), on = canvas.getContext('2d'); canvas.width = picture.width; canvas.height = picture.height; on.drawImage(picture, 0, 0);
        const {{ data }} = on.getImageData(0, 0, canvas.width, canvas.height); let light = 0, dark = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i] + data[i + 1] + data[i + 2] > 600) light++; else if (data[i] + data[i + 1] + data[i + 2] < 200) dark++;
        out.push(light > .9 * data.length / 4, dark > 200);"
    );
    let said = live(Pages::Server(&served(&[])), Theme::Dark, "/", &script);
    assert_eq!(said, ["false", "false", "false", "true", "true"]);
}

/// Drawings, and the lines that name their relations, are dark in the dark theme.
fn pictures_are_dark_in_the_dark_theme() {
    let script = format!(
        r"await write({TEST:?}); await solve(); all('.item > details').forEach(d => {{ d.open = true; }}); await until(() => document.querySelector('svg.line'));
        for (const of of ['.drawing svg', 'svg.line']) out.push(getComputedStyle(document.querySelector(of)).filter);"
    );
    for (theme, filter) in [(Theme::Dark, "invert(1) hue-rotate(180deg)"), (Theme::Light, "none")] {
        assert_eq!(live(Pages::Server(&served(&[])), theme, "/", &script), [filter; 2]);
    }
}

/// A wide screen is used, a picture is as wide as its frame at most, and one click shows it in full size.
fn wide_pictures_fit_and_have_a_full_size() {
    let row = |of: &dyn Fn(usize) -> String, between: &str| (0..12).map(of).collect::<Vec<_>>().join(between);
    let (words, heads) = (row(&|i| format!("word_of_thread_{i} = 0;"), " "), row(&|i| format!("P{i}"), " | "));
    let (writes, reads) = (
        row(&|i| format!("word_of_thread_{i} := 1"), " | "),
        row(&|i| format!("a{i} := word_of_thread_{}", (i + 1) % 12), " | "),
    );
    let all_new = row(&|i| format!("a{i}=1"), " /\\ ");
    let ring = format!("X86_TSO ring\n{{ {words} }}\n {heads} ;\n {writes} ;\n {reads} ;\nallowed ({all_new})\n");
    let script = format!(
        r"await write({ring:?}); await solve(); all('.item > details')[0].open = true; await until(() => document.querySelector('.drawing svg'));
        const frame = document.querySelector('.drawing'), picture = frame.querySelector('svg'), natural = picture.viewBox.baseVal.width;
        out.push(natural > innerWidth, picture.getBoundingClientRect().width <= frame.clientWidth, frame.clientWidth > .85 * innerWidth);
        all('label').find(l => l.textContent === 'full size').click(); out.push(Math.round(picture.getBoundingClientRect().width) === natural, document.documentElement.scrollWidth <= innerWidth);"
    );
    let said = live(Pages::Server(&served(&[])), Theme::Light, "/", &script);
    assert_eq!(said, ["true"; 5]);
}
