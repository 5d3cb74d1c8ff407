"use strict";
/* Adds run, edit and why to a litmus test of the page; the answer stands below it. */
function runnable(block) {
  const test = block.querySelector("code").textContent, name = test.split(/\s+/)[1], seconds = Number(document.body.dataset.seconds);
  const result = make("div", { class: "result" }), status = make("p", { class: "hidden", role: "status" });
  const at = text => "index.html#" + encodeURIComponent(text);
  const asked = (what, signal, found) => solved_here(JSON.stringify({ test, ...what }), seconds, signal, found);
  let running = null;
  /* The newest click counts; an older one is given up. */
  const solve = async explained => {
    if (running) running.abort();
    const own = running = new AbortController(), cancel = button("cancel", () => own.abort());
    status.textContent = "Solving.";
    const early = so_far("");
    result.replaceChildren(make("p", {}, `Solving, for about ${seconds} s. `, cancel), early.view);
    let page = null, reason = "";
    try { page = await asked({}, own.signal, early.add); } catch (e) { reason = e.name === "AbortError" ? "Cancelled." : `There is no answer: ${e.message}`; }
    if (running !== own) return;
    const focused = document.activeElement === cancel;
    if (page) fill(result, page, { asked, put: text => { location.href = at(text); } }); else { early.stop(); result.replaceChildren(make("p", { class: "bad" }, reason), early.view); }
    status.textContent = page ? summary(page) : reason;
    const why = [...result.querySelectorAll("details")].find(d => d.firstChild.textContent.startsWith("Why"));
    if (explained && why) { why.open = true; why.firstChild.focus(); } else if (focused) run.focus();
  };
  const act = (text, explained) => make("button", { type: "button", "aria-label": `${text} ${name}`, onclick: () => solve(explained) }, text);
  const run = act("run", false);
  block.append(make("div", { class: "controls" }, run, make("a", { href: at(test), "aria-label": `edit ${name}` }, "edit"), act("why", true)), status, result);
}
if (wasm) document.querySelectorAll(".litmus").forEach(runnable);
