"use strict";
const main = document.getElementById("main");

/* What is shown was deflated. */
function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")));
}
const inflated = text => unpacked(text).json();
/* The solver as WebAssembly, if the site has it: each question has a worker of its own, whose end gives the question up. */
const wasm = typeof SOLVER === "string" ? SOLVER : null;
const WORKER = `onmessage = async ({ data: { solver, question, seconds } }) => {
  const read = (at, length) => new TextDecoder().decode(new Uint8Array(exports.memory.buffer, at, length));
  const { exports } = await WebAssembly.instantiate(solver, { page: { now: () => performance.now(), found: (at, length) => postMessage(read(at, length)) } });
  const bytes = new TextEncoder().encode(question);
  // Each call may move the memory, so its buffer comes after it.
  const room = exports.room(bytes.length);
  new Uint8Array(exports.memory.buffer, room, bytes.length).set(bytes);
  const length = exports.answer(seconds);
  postMessage(read(exports.text(), length));
};`;
let solver = null;
/* Other pages have outcomes of a search that still runs: `found` gets them. */
const is_answer = page => !page.found || page.runs;
async function solved_here(question, seconds, signal, found) {
  solver = solver || unpacked(wasm).arrayBuffer().then(bytes => WebAssembly.compile(bytes));
  const module = await solver;
  return new Promise((done, fail) => {
    const address = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })), worker = new Worker(address);
    const end = () => { worker.terminate(); URL.revokeObjectURL(address); };
    const cancelled = () => { end(); fail(new DOMException("cancelled", "AbortError")); };
    if (signal && signal.aborted) { cancelled(); return; }
    if (signal) signal.addEventListener("abort", cancelled);
    worker.onmessage = ({ data }) => { const page = JSON.parse(data); if (is_answer(page)) { end(); done(page); } else if (found) found(page.found); };
    worker.onerror = e => { end(); fail(new Error(`this test needs more memory than the browser gives, or Mowgli failed (${e.message})`)); };
    worker.postMessage({ solver: module, question, seconds });
  });
}
/* The answer of the server is its last line. */
async function solved_there(question, signal, found) {
  const { body } = await fetch("answer", { method: "POST", body: question, signal }), lines = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let more = await lines.read(); !more.done; more = await lines.read()) {
    const all = (text + more.value).split("\n");
    text = all.pop();
    for (const line of all) { const page = JSON.parse(line); if (is_answer(page)) return page; if (found) found(page.found); }
  }
  throw new Error("its answer is cut off");
}
function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v); else if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v);
  }
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}
const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const verdict = (word, good) => make("span", { class: good === true ? "good" : good === false ? "bad" : "soft" }, word);
const GOOD = { sound: true, unsound: false, "not-locally-sound": false, blocks: false, stuck: false };
/* The colour is that of the verdict; whether it was expected is said beside it. */
const expected = r => make("span", {}, verdict(r.verdict, GOOD[r.verdict]), r.expected === true ? make("span", { class: "soft" }, " \u2713 as expected") : r.expected === false ? make("strong", {}, " \u2717 not expected") : null);
/* A table that is sorted by its heads and, where it is long, filtered; so many rows at a time. `shown` gets the numbers of the rows on screen. */
const ROWS = 200;
function table(heads, rows, shown) {
  const body = make("tbody", {}), pages = make("div", { class: "controls", role: "group", "aria-label": "pages" });
  const find = make("input", { type: "search", placeholder: "filter", "aria-label": "filter", oninput: () => { first = 0; show(); } });
  const plain = c => typeof c === "number" ? String(c) : typeof c === "string" ? c : c.textContent;
  const texts = rows.map(cells => cells.map(plain).join("\n").toLowerCase()), built = [];
  const row = i => built[i] = built[i] || make("tr", {}, ...rows[i].map(c => make("td", { class: typeof c === "number" ? "number" : null }, typeof c === "number" ? String(c) : c)));
  const key = (i, column) => typeof rows[i][column] === "number" ? rows[i][column] : plain(rows[i][column]);
  let by = -1, back = false, first = 0;
  const show = () => {
    const wanted = find.value.toLowerCase().split(/\s+/), order = rows.map((_, i) => i).filter(i => wanted.every(word => texts[i].includes(word)));
    if (by >= 0) order.sort((i, j) => { const a = key(i, by), b = key(j, by), c = typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }); return (back ? -c : c) || i - j; });
    const some = order.slice(first, first + ROWS), to = (text, at) => make("button", { type: "button", disabled: at < 0 || at >= order.length || null, onclick: () => { first = at; show(); } }, text);
    body.replaceChildren(...some.map(row));
    pages.replaceChildren(...(order.length > ROWS ? [to("before", first - ROWS), `${first + 1} to ${first + some.length} of ${order.length}`, to("after", first + ROWS)] : []));
    head.forEach((h, column) => { if (column === by) h.setAttribute("aria-sort", back ? "descending" : "ascending"); else h.removeAttribute("aria-sort"); });
    if (shown) shown(some);
  };
  const sort = column => { back = by === column && !back; by = column; first = 0; show(); };
  const head = heads.map((h, column) => make("th", { scope: "col" }, rows.length > 1 ? make("button", { type: "button", onclick: () => sort(column) }, h) : h));
  show();
  const all = make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, ...head)), body));
  return rows.length > FEW ? make("div", {}, find, pages, all) : all;
}
/* More than so many rows are filtered, and more than so many results are built when they are opened. */
const FEW = 8;

/* An execution that can be explored: relations are switched on and off, and a cycle is walked edge by edge. */
function draw(graph) {
  const frame = make("div", { class: "drawing" }), controls = make("div", { class: "controls", role: "group", "aria-label": "relations" }), hidden = new Set();
  const cycles = graph.refutations.filter(r => r.steps.length);
  let way = 0;
  const all = what => [...frame.querySelectorAll(what)];
  const apply = () => all("[data-relation]").forEach(e => { e.style.display = hidden.has(Number(e.dataset.relation)) ? "none" : ""; });
  /* Shows the picture of one way to get the outcome, without its text, which stands beside it. */
  const show = which => {
    way = which;
    frame.innerHTML = graph.pictures[which];
    const picture = frame.querySelector("svg"), { width } = picture.viewBox.baseVal, { body } = picture.dataset;
    picture.setAttribute("viewBox", `0 0 ${width} ${body}`);
    picture.setAttribute("height", body);
    picture.setAttribute("tabindex", "0");
    picture.setAttribute("aria-label", graph.title);
    apply();
  };
  show(0);
  const boxes = graph.relations.map((relation, i) => {
    const shown = make("input", { type: "checkbox", checked: true, onchange: () => { if (shown.checked) hidden.delete(i); else hidden.add(i); apply(); } });
    const bold = on => () => all(`[data-relation="${i}"] .edge`).forEach(e => { e.style.strokeWidth = on ? 3.5 : ""; });
    const edge = all(`[data-relation="${i}"] .edge`)[0], line = make("span", {});
    if (edge) line.innerHTML = `<svg class="line" width="28" height="8" aria-hidden="true"><rect width="28" height="8" rx="2" fill="#fff"/><path d="M0,4h28" stroke-width="2" stroke="${edge.getAttribute("stroke")}" stroke-dasharray="${edge.getAttribute("stroke-dasharray") || "none"}"/></svg>`;
    controls.append(make("label", { onmouseenter: bold(true), onmouseleave: bold(false) }, shown, line, `${relation.name} (${relation.library})`));
    return shown;
  });
  const full = make("input", { type: "checkbox", onchange: () => frame.classList.toggle("full", full.checked) });
  controls.append(make("label", {}, full, "full size"), button("save as SVG", () => download(graph.pictures[way], graph.title + ".svg", "image/svg+xml")));
  const each = on => () => boxes.forEach(box => { if (box.checked !== on) box.click(); });
  if (boxes.length > 1) controls.prepend(button("all", each(true)), button("none", each(false)));
  const view = make("div", {}, frame, controls);
  if (cycles.length) walk(graph, cycles, frame, show, view);
  else if (graph.why) view.prepend(make("div", { class: "why" }, program(graph, () => [])), make("p", { class: "sentence" }, graph.why));
  if (graph.run.length) view.append(run(graph, frame));
  return view;
}

/* How it gets there: what takes effect, step by step, by thread; what is under way then, and what memory holds. */
function run(graph, frame) {
  const of = new Map(), order = [];
  graph.calls.forEach((call, c) => call.events.forEach((event, e) => {
    const at = { call, position: order.length, thread: call.thread, left: event.subs.length, label: event.label || call.label };
    order.push(at);
    for (const sub of event.subs) of.set(sub.id, { at, sub, c });
  }));
  let step = 0;
  const steps = graph.run.map(id => of.get(id)), under = make("pre", {}), memory = make("pre", {}), said = make("p", { class: "hidden", role: "status" });
  const line = ({ at, sub }, i) => make("tr", { onclick: () => show(i + 1) }, make("td", { class: "number" }, String(i + 1)), ...graph.threads.map((_, t) => make("td", {}, t === at.thread ? `${sub.text}  of ${at.label}` : "")));
  const lines = steps.map(line);
  const show = to => {
    step = Math.max(0, Math.min(steps.length, to));
    const done = steps.slice(0, step), left = new Map(order.map(at => [at, at.left])), last = new Map(), cells = new Map();
    for (const { at, sub } of done) {
      left.set(at, left.get(at) - 1);
      last.set(at.thread, Math.max(last.get(at.thread) ?? -1, at.position));
      if (sub.write) cells.set(...sub.write);
    }
    // Begun, or passed by a later one of its thread, and not over.
    const open = order.filter(at => left.get(at) > 0 && (left.get(at) < at.left || at.position < (last.get(at.thread) ?? -1)));
    under.textContent = open.map(at => `${graph.threads[at.thread].name}: ${at.label}`).join("\n") || "nothing";
    memory.textContent = [...cells].sort().map(([cell, v]) => `${cell}: ${v}`).join("\n") || "as it was";
    lines.forEach((l, i) => { l.classList.toggle("done", i < step); l.classList.toggle("now", i === step - 1); });
    for (const e of frame.querySelectorAll("[data-sub]")) e.classList.toggle("time", step > 0 && Number(e.dataset.sub) === graph.run[step - 1]);
    said.textContent = step ? `Step ${step} of ${steps.length}: ${steps[step - 1].sub.text} of ${steps[step - 1].at.label}, ${graph.threads[steps[step - 1].at.thread].name}` : "";
  };
  const heads = ["step", ...graph.threads.map(t => t.name)].map(h => make("th", { scope: "col" }, h));
  const steered = make("div", { class: "run", tabindex: "0" }, make("div", { class: "beside" }, make("div", {}, make("strong", {}, "under way"), under), make("div", {}, make("strong", {}, "written so far"), memory)),
    make("div", { class: "drawing" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...lines))), said);
  steered.addEventListener("keydown", e => {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
    if (by) { show(step + by); e.preventDefault(); }
  });
  show(0);
  return make("details", { class: "steps" }, make("summary", {}, "A run that gets there, step by step"), make("div", { class: "controls" }, button("back", () => show(step - 1)), button("next step", () => show(step + 1))), steered);
}

/* The machine, played by hand: each step that is possible is a button. `begin` has choices to start with, `kept` gets each new choice. */
function machine(row, editor, begin, kept) {
  let choices = begin || [], points = [], end = null, at = 0, timer = null;
  const memory = make("div", { class: "beside" }), buffers = make("pre", {}), taken = make("ol", {}), next = make("div", { class: "controls", role: "group", "aria-label": "possible steps" }), said = make("p", { class: "sentence", "aria-live": "polite" });
  const words = step => `${step.thread}: ${step.text}`;
  const ask = async play => {
    next.querySelectorAll("button").forEach(b => { b.disabled = true; });
    let page;
    try { page = await editor.asked({ play }); } catch (e) { page = { errors: [e.message] }; }
    if (!page.play) { stop(); said.textContent = page.errors[0]; return false; }
    ({ choices, points, end } = page.play);
    if (page.errors.length) said.textContent = page.errors[0];
    return !page.errors.length;
  };
  const show = focus => {
    const point = points[at], before = points[at - 1], last = at === points.length - 1, nodes = [...new Set(point.memory.map(m => m[0]))].sort();
    const changed = (m, i) => before && before.memory[i][2] !== m[2];
    memory.replaceChildren(...nodes.map(node => make("div", {}, make("strong", {}, `memory of node ${node}`), make("pre", {}, ...point.memory.flatMap((m, i) => m[0] === node ? [make(changed(m, i) ? "mark" : "span", {}, `${m[1]} = ${m[2]}`), "\n"] : [])))));
    buffers.textContent = point.buffers.map(([thread, name, entries]) => `${thread} ${name}: ${entries.join(", ")}`).join("\n") || "All buffers are empty.";
    taken.replaceChildren(...points.slice(0, at + 1).flatMap((p, i) => p.taken.map(step => make("li", { class: i === at ? "now" : null }, words(step)))));
    const result = last && end ? end : `${count(point.possible.length, "step")} possible`;
    said.textContent = point.taken.length ? `${at}: ${point.taken.map(words).join("; then ")}. ${result}.` : `The beginning. ${result}.`;
    next.replaceChildren(...point.possible.map((step, i) => button(words(step), () => choose(i, true))));
    if (kept) kept(choices.slice(0, at));
    if (focus) (next.querySelector("button") || back).focus();
  };
  const choose = async (i, focus) => {
    if (choices[at] === i && at < points.length - 1) { at += 1; show(focus); return; }
    if (await ask({ choices: [...choices.slice(0, at), i] })) { at = points.length - 1; show(focus); }
  };
  const move = by => { stop(); at = Math.max(0, Math.min(points.length - 1, at + by)); show(); };
  const stop = () => { clearInterval(timer); timer = null; player.textContent = "play"; };
  /* Goes on as chosen before, and then by chance. */
  const forward = () => { const all = points[at].possible; if (all.length) choose(at < points.length - 1 ? choices[at] : Math.floor(Math.random() * all.length)); };
  const play = () => {
    if (timer) { stop(); return; }
    player.textContent = "pause";
    timer = setInterval(() => { if (!points[at].possible.length || !view.isConnected) stop(); else forward(); }, 900);
  };
  const outcome = make("select", { "aria-label": "an outcome to go to" }, ...row.outcomes.slice(0, ROWS).map((o, i) => make("option", { value: i }, row.names.map((n, k) => `${n}=${o.values[k]}`).join(", "))));
  if (row.outcomes.length > ROWS) outcome.append(make("option", { disabled: true }, `and ${row.outcomes.length - ROWS} more`));
  const go = async () => {
    stop();
    const from = at;
    if (await ask({ choices: choices.slice(0, at), to: row.outcomes[outcome.value].values })) { at = Math.min(from + 1, points.length - 1); show(); said.textContent = `${count(points.length - 1 - from, "step")} lead to ${outcome.selectedOptions[0].textContent}: next goes on. ` + said.textContent; }
  };
  const back = button("step back", () => move(-1)), player = button("play", play);
  const view = make("div", { class: "machine" }, make("div", { class: "controls" }, button("to the beginning", () => move(-points.length)), back, button("next", () => { stop(); forward(); }), player, ...(row.outcomes.length ? [button("take me to", go), outcome] : [])),
    said, next, memory, buffers, make("details", {}, make("summary", {}, "the steps so far"), taken));
  const first = begin && begin.length;
  ask({ choices }).then(fine => { if (fine) { at = first ? points.length - 1 : 0; show(); if (first && choices.length < begin.length) said.textContent = `This test has only ${choices.length} of the ${begin.length} steps of the link. ` + said.textContent; } });
  return view;
}
/* Why the machine cannot run a test; null if it can. */
const no_machine = row => !row.model.startsWith("RDMA_TSO") ? `${row.model} is defined by axioms and has no machine to play. RDMA_TSO has one. Below the picture of an execution is a run, step by step.` : row.implemented.some(name => !row.idle.includes(name)) ? "The machine plays the test without implementations only." : null;
function machine_of(row, editor, begin) {
  const details = make("details", { class: "machine-of" }, make("summary", {}, "Step by step: the machine, played by hand"));
  details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) details.append(machine(row, editor, begin, editor.kept)); });
  if (begin) details.open = true;
  return details;
}

/* The client: a column for each thread, and behind each line the edges of the cycle that begin there. */
function program(graph, numbers) {
  const own = graph.threads.map((_, t) => graph.calls.map((call, c) => ({ call, c })).filter(({ call }) => call.thread === t));
  const line = at => at ? make("td", { "data-call": at.c }, at.call.label, ...numbers(at.c).map(i => make("span", { class: "badge" }, String(i + 1)))) : make("td", {});
  const rows = Array.from({ length: Math.max(...own.map(o => o.length)) }, (_, r) => make("tr", {}, ...own.map(o => line(o[r]))));
  return make("table", {}, make("thead", {}, make("tr", {}, ...graph.threads.map(t => make("th", { scope: "col" }, `${t.name} on node ${t.node}`)))), make("tbody", {}, ...rows));
}

/* The way round a forbidden cycle: one sentence an edge. A line of the client, a call in the picture and a sentence are marked together. */
function walk(graph, cycles, frame, draw, view) {
  let which = 0, step = -1;
  const said = make("p", { class: "sentence", "aria-live": "polite" }), above = make("div", { class: "why" });
  const all = what => [...view.querySelectorAll(what)];
  const point = (calls, steps) => {
    for (const e of all("[data-call]")) e.classList.toggle("hover", calls.includes(Number(e.dataset.call)));
    for (const e of all("[data-step]")) e.classList.toggle("hover", steps.includes(Number(e.dataset.step)));
  };
  const hover = (e, of) => { e.addEventListener("mouseenter", () => point(...of())); e.addEventListener("mouseleave", () => point([], [])); };
  const ends = i => [cycles[which].steps[i].from.call, cycles[which].steps[i].to.call];
  const ofCall = e => () => [[Number(e.dataset.call)], cycles[which].steps.map((_, i) => i).filter(i => ends(i).includes(Number(e.dataset.call)))];
  const ofStep = e => () => [ends(e.dataset.step), [Number(e.dataset.step)]];
  const choose = i => { step = i; show(); };
  const begin = () => {
    const { steps, end } = cycles[which];
    draw(which);
    const sentence = (s, i) => make("li", { "data-step": i }, button(s.sentence, () => choose(i)));
    above.replaceChildren(program(graph, c => steps.map((_, i) => i).filter(i => steps[i].from.call === c)), make("ol", {}, ...steps.map(sentence), make("li", { class: "last" }, end)));
    for (const e of all("[data-call]")) hover(e, ofCall(e));
    for (const e of all("[data-step]")) { hover(e, ofStep(e)); if (e.tagName === "g") e.addEventListener("click", () => choose(Number(e.dataset.step))); }
    frame.querySelector("svg").addEventListener("keydown", e => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
      if (by) { move(by); e.preventDefault(); }
    });
    show();
  };
  const show = () => {
    const { steps, end } = cycles[which];
    for (const e of all("[data-step]")) e.classList.toggle("now", Number(e.dataset.step) === step);
    frame.querySelector("svg").classList.toggle("walked", step >= 0);
    said.textContent = step < 0 ? `A cycle of ${count(steps.length, "edge")} forbids it. ${end}` : `${step + 1} of ${steps.length}: ${steps[step].sentence}` + (step === steps.length - 1 ? ` ${end}` : "");
  };
  const move = by => { const n = cycles[which].steps.length + 1; step = (step + 1 + by + n) % n - 1; show(); };
  const buttons = make("div", { class: "controls", role: "group", "aria-label": "the cycle" }, make("strong", {}, "Why the specification forbids it"), button("back", () => move(-1)), button("next edge", () => move(1)));
  if (cycles.length > 1) {
    const choice = make("select", { "aria-label": "which way to get the outcome", onchange: () => { which = choice.selectedIndex; step = -1; begin(); } }, ...cycles.map((_, i) => make("option", {}, `way ${i + 1} of ${cycles.length}`)));
    buttons.append(choice);
  }
  view.prepend(above, make("div", { class: "bar" }, buttons, said));
  begin();
}

/* Graphs are drawn when they are opened: a page can have many. */
function opened(title, graph, text, open) {
  const details = make("details", { open: open || null }, make("summary", {}, title));
  const fill = () => {
    if (details.dataset.filled || !details.open) return;
    details.dataset.filled = "yes";
    if (graph) details.append(draw(graph));
    if (text) details.append(make("details", {}, make("summary", {}, "as text"), make("pre", {}, text)));
  };
  details.addEventListener("toggle", fill);
  fill();
  return details;
}
function download(text, name, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
const save = (text, name) => download(text, name + ".litmus", "text/plain");
function repair(row, name, apply) {
  const use = way => way.fixed === null ? null : make("button", { type: "button", onclick: () => apply ? apply(way.fixed) : save(way.fixed, name + ".fixed") }, apply ? "put into the test" : "save the test with it");
  const one = way => make("li", {}, `cost ${way.cost} `, use(way), make("pre", {}, [...way.changes, ...way.because.map(line => "  " + line)].join("\n")));
  return make("div", {}, make("h3", {}, "The least to insert"), make("pre", {}, row.found), make("ol", {}, ...row.ways.map(one)));
}
/* The anchors of results: their names, with a number where several have the same. */
const anchors = new Map(), known = new Map();
function name(kind, rows, of) {
  rows.forEach((row, i) => {
    const slug = `${kind}-${of(row).toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-|-$/g, "")}`, before = known.get(slug) || 0;
    known.set(slug, before + 1);
    anchors.set(`${kind}/${i}`, before ? `${slug}-${before + 1}` : slug);
  });
}
const anchor = (kind, i) => anchors.get(`${kind}/${i}`);
/* One of several things at a time, each behind a tab, which the arrow keys choose; one alone as it is. */
let panels = 0;
function tabs(all) {
  if (all.length < 2) return all.map(([, build]) => build());
  const id = "panel" + panels++, shown = make("div", { role: "tabpanel", id }), built = [];
  const show = (which, focus) => {
    built[which] = built[which] || all[which][1]();
    shown.replaceChildren(built[which]);
    buttons.forEach((button, i) => { button.setAttribute("aria-selected", i === which); button.tabIndex = i === which ? 0 : -1; });
    if (focus) buttons[which].focus();
  };
  const keys = (e, i) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: all.length - 1 }[e.key];
    if (to !== undefined) { show((to + all.length) % all.length, true); e.preventDefault(); }
  };
  const buttons = all.map(([title], i) => make("button", { type: "button", role: "tab", "aria-controls": id, onclick: () => show(i), onkeydown: e => keys(e, i) }, title));
  show(0);
  return [make("div", { class: "controls", role: "tablist" }, ...buttons), shown];
}
function counterexample(found) {
  const view = make("div", {});
  if (found.outcome) view.append(make("p", {}, "The specification forbids that this client ends with ", make("code", {}, found.outcome), "."));
  if (found.graph) view.append(draw(found.graph));
  if (found.explanation) view.append(make("details", { open: !found.graph || null }, make("summary", {}, "as text"), make("pre", {}, found.explanation)));
  if (found.litmus) view.append(make("details", {}, make("summary", {}, "as a litmus test"), make("pre", {}, found.litmus.trim())));
  return view;
}
function check(row, i) {
  const title = `${row.library} (${row.variant})`;
  const item = make("section", { class: "item", id: anchor("check", i) }, make("h2", {}, `${title} over ${row.over}: `, expected(row)));
  if (row.stopped) item.append(make("p", { class: "bad" }, `Undecided: ${row.stopped}`));
  item.append(...tabs(row.found.map(found => [found.title, () => counterexample(found)])));
  if (row.repair) item.append(repair(row.repair, title));
  if (row.concretisation.length) item.append(make("pre", {}, row.concretisation.join("\n")));
  const numbers = [`${row.bound}; ${count(row.clients, "client")}, ${count(row.executions, "execution")}, ${row.seconds.toFixed(2)} s`, ...row.stats.split("\n")];
  item.append(make("details", {}, make("summary", {}, "bound and numbers"), ...numbers.map(line => make("p", { class: "soft" }, line))));
  return item;
}
/* A picture of an execution with an outcome: the one that is there, or one that is asked for when it is opened. */
function execution(row, outcome, number, editor) {
  const title = "An execution with " + row.names.map((n, k) => `${n}=${outcome.values[k]}`).join(", ");
  if (outcome.graph || !editor || outcome.by_chance) return outcome.graph ? opened(title, outcome.graph) : null;
  const details = make("details", {}, make("summary", {}, title));
  details.addEventListener("toggle", async () => {
    if (details.dataset.filled) return;
    details.dataset.filled = "yes";
    const page = await editor.asked({ draw: number }), graph = page.tests.flatMap(t => t.outcomes).filter(o => o.values.join() === outcome.values.join()).map(o => o.graph)[0];
    // A search that stops finds other outcomes each time.
    details.append(graph ? draw(graph) : make("p", { class: "bad" }, page.errors[0] || `The search did not find it again: ${page.tests[0].stopped}`));
  });
  return details;
}
/* How many outcomes there are: of a search that stopped, only that there are so many. */
const outcomes = row => !row.stopped ? count(row.outcomes.length, "outcome") : row.outcomes.length ? `at least ${count(row.outcomes.length, "outcome")}` : "the search ended before it found an outcome";
const unsettled = row => ({ vacuous: "Vacuous", stuck: "Stuck" })[row.verdict] || "Undecided";
/* What the answer to an assertion means. */
function meaning(a) {
  if (a.holds === null || a.kind === "vacuous") return "";
  const can = { allowed: [" can happen", " cannot happen"], forbidden: [" cannot happen", " can happen"], forall: [" always holds", " does not always hold"] }[a.kind];
  return can ? `: (${a.condition})${can[a.holds ? 0 : 1]}` : "";
}
const title = row => `${row.name} (${row.model}${row.implemented.length ? ", implemented by " + row.implemented.join(", ") : ""})`;
function test(row, i, editor) {
  const item = make("section", { class: "item", id: anchor("test", i) }, make("h2", {}, title(row)), row.description ? make("p", {}, row.description) : null, editor ? null : make("pre", {}, row.text.trim()));
  row.outside.forEach(line => item.append(make("p", { class: "bad" }, `Outside of the specification: ${line}`)));
  row.warnings.forEach(w => item.append(make("p", { class: "bad" }, `Warning, line ${w.line}: ${w.message}`)));
  row.idle.forEach(name => item.append(make("p", { class: "bad" }, `${name} changes nothing: the test has no object of this library.`)));
  if (row.stopped) item.append(make("p", { class: "bad" }, `Incomplete: ${row.stopped}`));
  for (const a of row.assertions) {
    const answer = a.holds === true ? "Ok" : a.holds === false ? "No" : unsettled(row);
    item.append(make("p", {}, verdict(answer, a.holds), ` ${a.kind} (${a.condition})`, make("span", { class: "soft" }, meaning(a) + (a.seen ? ", seen in a random run" : ""))));
    if (a.seen) item.append(machine_of(row, editor, a.seen));
    if (a.graph || a.explanation) item.append(opened(`Why: ${a.kind} (${a.condition})`, a.graph, a.explanation, a.holds === false));
  }
  if (row.repair) item.append(repair(row.repair, row.name, editor && editor.put));
  for (const [claim, holds] of row.liveness) item.append(make("p", {}, verdict(holds === true ? "Ok" : holds === false ? "No" : "Undecided", holds), ` ${claim}`));
  if (editor && editor.kept) item.append(no_machine(row) ? make("p", { class: "soft" }, no_machine(row)) : machine_of(row, editor, editor.begin));
  item.append(make("h3", {}, outcomes(row)));
  if (!row.outcomes.length && !row.stopped) item.append(make("p", { class: "bad" }, "Vacuous: no execution ends: a thread waits for what never happens, makes a call that cannot be, or assumes what is never true."));
  const drawn = make("div", {}), built = [];
  const execution_of = k => built[k] = built[k] || execution(row, row.outcomes[k], k, editor);
  if (row.outcomes.length) item.append(table([...row.names, row.stopped ? "executions found" : "executions"], row.outcomes.map(o => [...o.values, o.executions]), some => drawn.replaceChildren(...some.map(execution_of).filter(Boolean))), drawn);
  if (row.stuck.length) {
    item.append(make("h3", {}, "Executions that are stuck"));
    if (row.unspoken) item.append(make("p", { class: "bad" }, "Of these the test says nothing: add ends, may hang, hangs (P1) or stuck (condition)."));
    item.append(table([...row.names, "who waits"], row.stuck.map(s => [...s.values, s.waits.join("; ")])));
  }
  return item;
}
const finding = (row, i) => make("section", { class: "item", id: anchor("finding", i) }, make("h2", {}, row.title), opened("The execution", row.graph, row.explanation, true));
/* Where there are many results each is built when it is opened. */
function results(rows, kind, title, build, fine) {
  const marked = (item, row) => { if (fine && fine(row) === true) item.classList.add("fine"); return item; };
  if (rows.length <= FEW) return rows.map((row, i) => marked(build(row, i), row));
  return rows.map((row, i) => {
    const item = make("details", { class: "item", id: anchor(kind, i) }, make("summary", {}, title(row)));
    item.addEventListener("toggle", () => { if (item.open && item.children.length === 1) { const built = build(row, i); built.removeAttribute("id"); item.append(built); } });
    return marked(item, row);
  });
}
function reveal() {
  const e = location.hash && document.getElementById(location.hash.slice(1));
  if (!e) return;
  if (e.tagName === "DETAILS") e.open = true;
  e.scrollIntoView();
}
/* Long lines, tables and pictures are scrolled by the keyboard too. */
function scrolled() {
  for (const wide of main.querySelectorAll("pre, .wide, .drawing")) if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
}
let measuring = false;
const measure = () => { if (!measuring) { measuring = true; requestAnimationFrame(() => { measuring = false; scrolled(); }); } };
new MutationObserver(measure).observe(main, { childList: true, subtree: true, attributes: true, attributeFilter: ["open"] });
window.addEventListener("resize", measure);
measure();
/* Milliseconds until random runs begin, and the most of them after a search that stopped. */
const PATIENCE = 700, RUNS = 200;
/* True: as it should be; false: not; null: not decided. */
const fine = r => r.verdict === "fails" ? false : r.stopped || !["holds", "asserts nothing"].includes(r.verdict) ? null : true;
const as_expected = r => r.stopped ? null : r.expected === null ? GOOD[r.verdict] ?? null : r.expected;
const made = ({ version, command, seconds }) => make("p", { class: "soft" }, `Mowgli ${version}, ${new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ")} UTC: `, make("code", {}, command));
/* How many results are as they should be, and a switch that leaves the others. */
function totals(page, into) {
  const line = (what, rows, of) => {
    const as = wanted => rows.filter(r => of(r) === wanted).length;
    return rows.length ? make("p", {}, `${count(rows.length, what)}: `, verdict(`${as(true)} as they should be`, true), ", ", verdict(`${as(false)} not`, as(false) ? false : null), `, ${as(null)} undecided`) : null;
  };
  const only = make("input", { type: "checkbox", onchange: () => into.classList.toggle("failures", only.checked) });
  return make("div", { class: "totals" }, line("check", page.checks, as_expected), line("test", page.tests, fine), make("label", {}, only, " only what is not as it should be"));
}
function fill(into, page, editor) {
  into.replaceChildren();
  if (!editor) {
    name("check", page.checks, r => `${r.library}-${r.variant}`);
    name("test", page.tests, r => r.name);
    name("finding", page.findings, r => r.title);
  }
  // A table of networks has only the checks that found something.
  if (page.made && !page.matrix && page.checks.length + page.tests.length > 1) into.append(totals(page, into));
  if (page.errors.length) into.append(make("section", { class: "item", role: "alert" }, make("h2", { class: "bad" }, "Not shown"), make("pre", {}, page.errors.join("\n"))));
  if (page.offer && editor) into.append(make("button", { type: "button", onclick: () => editor.put(page.offer) }, "convert this test of herd's to Mowgli's language"));
  const link = (kind, i, text) => make("a", { href: "#" + anchor(kind, i) }, text);
  if (page.matrix) {
    const cell = c => { const said = verdict(c.text, c.is_good); return c.check !== null ? make("a", { href: "#" + anchor("check", c.check) }, said) : c.test !== null ? make("a", { href: "#" + anchor("test", c.test) }, said) : said; };
    into.append(make("h2", {}, "Networks"), table(["network", ...page.matrix.columns], page.matrix.rows.map(([network, cells]) => [network, ...cells.map(cell)])));
  }
  const why = row => row.stopped ? make("span", { class: "soft" }, `: ${row.stopped}`) : null;
  if (page.checks.length > 1) {
    into.append(make("h2", {}, "Checks"), table(["library", "over", "bound", "clients", "executions", "verdict", "progress", "seconds"], page.checks.map((r, i) => [link("check", i, `${r.library} (${r.variant})`), r.over, r.bound, r.clients, r.executions, make("span", {}, expected(r), why(r)), r.progress, Number(r.seconds.toFixed(2))])));
  }
  const answer = r => make("span", {}, verdict(fine(r) === true ? "Ok" : fine(r) === false ? "No" : unsettled(r), fine(r)), why(r));
  if (page.tests.length > 1) {
    into.append(make("h2", {}, "Litmus tests"), table(["test", "model", "outcomes", "assertions"], page.tests.map((r, i) => [link("test", i, r.name), r.model, r.stopped ? outcomes(r) : r.outcomes.length, answer(r)])));
  }
  into.append(...results(page.checks, "check", r => `${r.library} (${r.variant}) over ${r.over}`, check, as_expected), ...results(page.tests, "test", title, (row, i) => test(row, i, editor), fine), ...results(page.findings, "finding", r => r.title, finding));
  if (page.made) into.append(made(page.made));
}
/* One line about an answer, which a screen reader reads aloud. */
const summary = page => page.errors.length ? "There is an error." : page.tests.map(row => [`${row.name}: ${outcomes(row)}`, ...row.assertions.map(a => `${a.kind} (${a.condition}): ${a.holds === true ? "Ok" : a.holds === false ? "No" : unsettled(row)}`)].join("; ")).join(". ");
/* What the address carries: all that is chosen, deflated; or the text of a test. None if it is broken. */
const deflated = async text => btoa(String.fromCharCode(...new Uint8Array(await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer()))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
async function carried() {
  const hash = location.hash.slice(1);
  try {
    if (hash.startsWith("z=")) return await inflated(hash.slice(2).replace(/-/g, "+").replace(/_/g, "/"));
    const [test, by] = hash.split("&implemented=");
    return { test: decodeURIComponent(test), implemented: decodeURIComponent(by || "") };
  } catch { return null; }
}
/* The text that was written last is kept by the browser, where it keeps anything. */
const draft = { get: () => { try { return localStorage.getItem("mowgli.draft"); } catch { return null; } }, set: text => { try { localStorage.setItem("mowgli.draft", text); } catch { /* A browser may keep nothing. */ } } };
/* A plain editor, for a browser that does not run the other one (editor/editor.mjs), which has the same functions. */
function plain_editor({ parent, text, label, changed, solve }) {
  const area = make("textarea", { spellcheck: "false", "aria-label": label, oninput: () => changed(area.value) });
  area.value = text;
  area.addEventListener("keydown", e => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) solve(); });
  parent.append(area);
  /* Replaces the text so that the browser can undo it. */
  const put = of => {
    if (of === area.value) return;
    area.focus({ preventScroll: true });
    area.select();
    if (!document.execCommand("insertText", false, of) || area.value !== of) area.value = of;
    area.setSelectionRange(0, 0);
    area.scrollTop = 0;
  };
  /* The word with the error is selected. */
  const mark = marks => {
    const [error] = marks.filter(m => m.severity === "error");
    if (!error) return;
    const lines = area.value.split("\n"), start = lines.slice(0, error.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + error.column - 1;
    area.focus();
    area.setSelectionRange(start, start + (area.value.slice(start).match(/^\w+|^./) || [""])[0].length);
  };
  return { get: () => area.value, put, mark };
}
function best_editor(of) {
  try { return CODEMIRROR.create(of); } catch { of.parent.replaceChildren(); return plain_editor(of); }
}
/* The outcomes that are known while a search still runs, and the assertions that they decide. */
function so_far(where) {
  const rows = new Map(), texts = new Set(), head = make("p", {}), decided = make("div", {}), all = make("pre", { hidden: true });
  const show = state => { head.textContent = `${count(rows.size, "outcome")} so far${where}; ${state}`; };
  const decide = (text, holds, how) => {
    if (!texts.has(text)) decided.append(make("p", {}, verdict(holds ? "Ok" : "No", holds), ` ${text}`, make("span", { class: "soft" }, `: ${how}`)));
    texts.add(text);
  };
  const add = found => {
    for (const values of found.outcomes) rows.set(values.join(), values);
    for (const [text, holds] of found.decided) decide(text, holds, "an outcome that the search has found");
    show("the search still runs, so there may be more.");
    const lines = [...rows.values()].slice(0, ROWS).map(values => found.names.map((name, k) => `${name}=${values[k]}`).join(", "));
    all.textContent = [...lines, ...(rows.size > ROWS ? [`and ${rows.size - ROWS} more`] : [])].join("\n");
    all.hidden = !rows.size;
  };
  const stop = () => { if (rows.size) show("the search did not end, so there may be more."); };
  return { view: make("div", {}, decided, head, all), rows, decide, add, stop };
}
/* Random runs find outcomes while a search still looks for all of them. Those that decide assertions are kept by assertion. */
function random_runs(ask, known) {
  const seen = new Map();
  const look = async (until, most) => {
    for (let seed = 0; until() && seed < most;) {
      const { runs, found } = await ask({ runs: seed });
      if (!runs || !runs.runs) return;
      for (const run of runs.seen.filter(run => !seen.has(run.assertion))) {
        known.decide(run.text, run.holds, "seen in a random run");
        seen.set(run.assertion, run);
      }
      known.add({ ...found, decided: [] });
      seed += runs.runs;
    }
  };
  return { seen, look };
}
/* The menu of examples. One of a question has the question and its short answer above the editor, and its other versions beside it. */
function example_menu(examples, use) {
  const about = make("p", { hidden: true }), others = make("div", { class: "others", hidden: true }), groups = [...new Set(examples.map(e => e.group))];
  const choice = make("select", { "aria-label": "examples" }, make("option", { value: "" }, "questions and examples"),
    ...groups.map(group => make("optgroup", { label: group }, ...examples.filter(e => e.group === group).map(e => make("option", { value: examples.indexOf(e) }, e.name)))));
  let example = { text: "" };
  const asked = e => {
    example = e;
    const versions = e.answer ? examples.filter(other => other.group === e.group && other !== e) : [];
    about.hidden = !e.answer;
    // Of Markdown's links their words are left.
    about.replaceChildren(make("strong", {}, e.group), " ", e.answer.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
    others.hidden = !versions.length;
    others.replaceChildren(...versions.map(other => make("div", {}, button(`show ${other.name}`, () => put(other)), other.implemented ? ` implemented by ${other.implemented}` : "", make("pre", {}, other.text.trim()))));
  };
  const put = e => { asked(e); return use(e); };
  /* Another test than the example has no question. */
  const forget = () => { about.hidden = others.hidden = true; }, edited = now => { if (now.trim() !== example.text.trim()) forget(); };
  /* A choice alone changes nothing, because arrow keys choose too. */
  const show = button("show", () => { if (choice.value) put(examples[choice.value]); });
  return { about, others, choice, show, asked, put, forget, edited };
}
async function playground(into, { seconds, address, models, networks, implementations, examples, template, grammar, keywords }) {
  const first = await carried(), place = make("div", { class: "editor" });
  let written = () => {};
  const text = best_editor({
    parent: place, text: first && first.test || draft.get() || examples[0].text, label: "a litmus test", keywords, changed: now => { draft.set(now); written(now); }, solve: () => again(),
    list: async (test, complete) => { try { return (await send({ test, complete })).completions || []; } catch { return []; } },
  });
  const options = (none, all, before = "") => [make("option", { value: "" }, none), ...all.map(m => make("option", { value: m }, before + m))];
  const again = () => solve("Solving.");
  const by = make("input", { list: "implementations", placeholder: "implemented by, as bal:no-fence,sv", "aria-label": "implementations", size: 34, onchange: again });
  const over = make("select", { "aria-label": "the model", onchange: again }, ...options("over its own model", models, "over "));
  const beside = make("select", { "aria-label": "another model beside it", onchange: again }, ...options("beside no other model", models, "beside "));
  const network = make("select", { "aria-label": "the network", onchange: again }, ...options("on its own network", networks, "on "));
  const chosen = () => ({ test: text.get(), over: over.value, beside: beside.value, network: network.value, implemented: by.value, ...(played && played.length ? { play: played } : {}) });
  const result = make("div", { class: "beside" }), status = make("p", { class: "hidden", role: "status" });
  let running = null, solved = "test", begin = first && first.play || null, played = begin;
  const names = () => by.value.split(",").map(name => name.trim()).filter(Boolean);
  const send = async (asked, signal, found) => {
    const question = JSON.stringify({ test: text.get(), over: over.value, network: network.value, implemented: names(), ...asked });
    return wasm ? solved_here(question, seconds, signal, found) : solved_there(question, signal, found);
  };
  const hash = async () => "#z=" + await deflated(JSON.stringify(chosen()));
  /* Other people can open the public address, and the page's own one if it is on a web server. */
  const open = address || (location.protocol.startsWith("http") && !["localhost", "127.0.0.1"].includes(location.hostname) ? location.href.split("#")[0] : null);
  const copy = async () => {
    const link = (open || location.href.split("#")[0]) + await hash(), said = open ? "copied" : "copied, for this machine only";
    try { await navigator.clipboard.writeText(link); copied.textContent = said; } catch { shown.value = link; shown.hidden = false; shown.focus(); shown.select(); }
  };
  /* The answer to the newest request is shown; an older one is given up, and so is its work. */
  const solve = async (meanwhile, more = {}) => {
    if (running) running.abort();
    const own = running = new AbortController(), begun = Date.now(), asked = { test: text.get(), over: over.value, network: network.value, implemented: names() };
    draft.set(text.get());
    played = begin;
    hash().then(to => history.replaceState(null, "", to));
    const all = [asked, ...(beside.value ? [{ ...asked, over: beside.value }] : [])], known = all.map(one => so_far(beside.value ? ` over ${one.over || "its own model"}` : ""));
    const { seen, look } = random_runs(what => send({ ...asked, ...what }, own.signal), known[0]);
    let searching = true;
    const walking = more.repair ? Promise.resolve() : new Promise(done => setTimeout(done, PATIENCE)).then(() => look(() => searching && running === own, Infinity)).catch(() => {});
    const said = make("span", {}, meanwhile), cancel = make("button", { type: "button", onclick: () => own.abort() }, "cancel");
    const clock = setInterval(() => { said.textContent = `${meanwhile} ${Math.round((Date.now() - begun) / 1000)} s of at most ${seconds} s.`; }, 1000);
    status.textContent = meanwhile;
    const panes = (...first) => known.map((one, i) => make("div", {}, ...(i ? [] : first), one.view));
    result.replaceChildren(...panes(make("p", {}, said, " ", cancel)));
    let answer;
    try {
      const pages = await Promise.all(all.map((one, i) => send({ ...one, ...more }, own.signal, known[i].add)));
      searching = false;
      const row = pages[0].tests[0], is_open = () => row.assertions.some((a, i) => a.holds === null && !seen.has(i));
      if (row && row.stopped && !no_machine(row)) {
        if (is_open()) await look(is_open, RUNS);
        const found = new Set(row.outcomes.map(o => o.values.join()));
        for (const [key, values] of known[0].rows) if (!found.has(key)) row.outcomes.push({ values, executions: 1, graph: null, by_chance: true });
        row.assertions.forEach((a, i) => { if (a.holds === null && seen.has(i)) { a.holds = seen.get(i).holds; a.seen = seen.get(i).choices; } });
      }
      answer = () => {
        const difference = pages.length > 1 ? differing(pages) : null;
        const kept = choices => { played = choices; hash().then(to => history.replaceState(null, "", to)); };
        const pane = (page, i) => {
          const pane = make("div", {}), linked = i ? { begin: null, kept: () => {} } : { begin, kept };
          fill(pane, page, { put: offer, asked: what => send({ ...all[i], ...what }), ...linked });
          return pane;
        };
        result.replaceChildren(...(difference ? [difference] : []), ...pages.map(pane));
        if (pages[0].tests.length) solved = pages[0].tests[0].name;
        begin = null;
        status.textContent = pages.map(summary).join(" Beside it: ");
        text.mark(marks(pages[0]));
      };
    } catch (e) { answer = () => { status.textContent = e.name === "AbortError" ? "Cancelled." : "No answer."; known.forEach(one => one.stop()); result.replaceChildren(...panes(make("p", { class: "bad" }, e.name === "AbortError" ? "Cancelled." : wasm ? `There is no answer: ${e.message}` : `The server does not answer: ${e}`))); }; }
    clearInterval(clock);
    if (running !== own) return;
    const focused = document.activeElement === cancel;
    running = null;
    answer();
    if (focused) start.focus();
  };
  /* The way back leads to what was written, solved or not. */
  const remember = async () => { const now = await hash(); history.replaceState(null, "", now); history.pushState(null, "", now); };
  const offer = async of => { await remember(); forget(); text.put(of); again(); };
  const load = make("input", { type: "file", accept: ".litmus", "aria-label": "open a file", onchange: async () => offer(await load.files[0].text()) });
  const { about, others, choice, show, asked, put, forget, edited } = example_menu(examples, async e => { await remember(); by.value = e.implemented; over.value = ""; network.value = ""; text.put(e.text); again(); });
  const copied = button("copy link", copy), shown = make("input", { hidden: true, readonly: true, size: 34, "aria-label": "the link" });
  const start = button("solve (Ctrl-Enter)", again);
  const take = state => { forget(); text.put(state.test || text.get()); by.value = state.implemented || ""; over.value = state.over || ""; network.value = state.network || ""; beside.value = state.beside || ""; begin = state.play || null; };
  take(first || {});
  written = edited;
  if (!location.hash && !draft.get()) asked(examples[0]);
  into.append(make("div", { class: "controls" }, choice, show), about, make("div", { class: "beside" }, place, others), make("div", { class: "controls" }, start, button("repair", () => solve("Repairing.", { repair: true })), over, network, beside, by, make("datalist", { id: "implementations" }, ...implementations.map(value => make("option", { value }))),
    copied, shown, button("save", () => save(text.get(), solved)), load), make("details", {}, make("summary", {}, "how a test is written"), button("write this test", () => put({ text: template, implemented: "", answer: "" })), make("pre", {}, template), make("pre", {}, grammar)), status, result);
  if (first === null) result.append(make("p", { class: "bad" }, "The address carries a test that is broken: it was cut off, or changed on its way. This is an example instead."));
  else again();
  window.addEventListener("popstate", async () => { const now = await carried(); if (now && now.test) { take(now); again(); } });
}
/* The error and the warnings of an answer, at their places. */
const marks = page => [
  ...(page.place ? [{ line: page.place[0], column: page.place[1], severity: "error", message: page.errors[0] }] : []),
  ...page.tests.flatMap(t => t.warnings).map(w => ({ line: w.line, column: w.column, severity: "warning", message: w.message })),
];
const button = (name, onclick) => make("button", { type: "button", onclick }, name);
/* The outcomes that only one of two models has. */
function differing(pages) {
  const [a, b] = pages.map(page => page.tests[0]);
  if (!a || !b || a.names.join() !== b.names.join()) return null;
  const of = row => row.outcomes.map(o => row.names.map((n, k) => `${n}=${o.values[k]}`).join(", "));
  const only = (row, other) => { const there = new Set(of(other)), all = of(row).filter(o => !there.has(o)); return make("p", {}, make("strong", {}, `only over ${row.model}: `), other.stopped ? "not known, because the other search is incomplete" : all.slice(0, ROWS).join("; ") + (all.length > ROWS ? `; and ${all.length - ROWS} more` : "") || "nothing"); };
  return make("section", { class: "item difference" }, make("h2", {}, "The difference of outcomes"), only(a, b), only(b, a));
}
function start(data) {
  main.replaceChildren(make("h1", {}, data.title));
  if (data.playground) { playground(main, data.playground); return; }
  const all = make("div", {});
  main.append(all);
  fill(all, data);
  window.addEventListener("hashchange", reveal);
  reveal();
}
const data = document.getElementById("data");
if (data) { if (data.type === "application/json") start(JSON.parse(data.textContent)); else inflated(data.textContent).then(start); }
