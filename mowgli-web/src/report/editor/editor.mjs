// The editor of the playground: CodeMirror 6 with the words of litmus tests. README.md says how to build editor.js from it.
import { EditorState, Transaction } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, drawSelection, highlightSpecialChars } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { autocompletion, completionKeymap, snippet } from "@codemirror/autocomplete";
import { setDiagnostics, lintKeymap } from "@codemirror/lint";
import { StreamLanguage, HighlightStyle, syntaxHighlighting, bracketMatching } from "@codemirror/language";
import { tags } from "@lezer/highlight";

/* The classes of words are those of src/book/highlight.rs; colours come from the page. */
const colour = (tag, name) => ({ tag, color: `var(--${name})` });
const style = HighlightStyle.define([
  { ...colour(tags.keyword, "keyword"), fontWeight: "600" }, { ...colour(tags.labelName, "thread"), fontWeight: "600" },
  colour(tags.function(tags.variableName), "call"), colour(tags.number, "number"),
  { ...colour(tags.comment, "soft"), fontStyle: "italic" }, { tag: tags.meta, fontWeight: "700" },
]);
function language(keywords) {
  const known = new Set(keywords);
  return StreamLanguage.define({
    startState: () => ({ words: 0, comment: false, text: false, dot: false }),
    copyState: state => ({ ...state }),
    tokenTable: { call: tags.function(tags.variableName) },
    token(stream, state) {
      const until = (end, on) => { if (stream.skipTo(end)) { stream.match(end); state[on] = false; } else stream.skipToEnd(); return "comment"; };
      if (state.comment) return until("*)", "comment");
      if (state.text) return until('"', "text");
      if (stream.eatSpace()) return null;
      if (state.words === 0 && !stream.match(/^(\/\/|\(\*)/, false)) { stream.match(/^\S+/); state.words = 1; return "meta"; }
      if (state.words === 1 && stream.match(/^[^\s{"]+/)) { state.words = 2; return null; }
      if (stream.match("//")) { stream.skipToEnd(); return "comment"; }
      if (stream.match("(*")) { state.comment = true; return until("*)", "comment"); }
      if (stream.match('"')) { state.text = true; return until('"', "text"); }
      const after = state.dot;
      state.dot = false;
      if (stream.match(/^[0-9]+/)) return "number";
      const word = stream.match(/^[A-Za-z0-9_']+/);
      if (!word) { state.dot = stream.next() === "."; return null; }
      if (known.has(word[0])) return "keyword";
      if (/^P[0-9]+$/.test(word[0])) return "labelName";
      return after || stream.peek() === "(" ? "call" : null;
    },
  });
}
/* The calls with their arguments as fields to fill in. The page lists what can be written: its texts, their kinds and meanings. */
function completed(context, list) {
  const word = context.matchBefore(/[A-Za-z0-9_]*/), before = context.state.sliceDoc(word.from - 1, word.from);
  if (word.from === word.to && before !== "." && !context.explicit) return null;
  return Promise.resolve(list(context.state.doc.toString(), word.from)).then(all => ({ from: word.from, validFor: /^[A-Za-z0-9_]*$/, options: all.map(option) }));
}
function option({ text: label, kind, library: detail, about: info }) {
  const fields = label.replace(/[{}]/g, "\\$&").replace(/\(([^()]*)\)/, (_, args) => "(" + args.replace(/[A-Za-z_][A-Za-z0-9_]*/g, "${$&}") + ")");
  return { label, type: { call: "function", library: "namespace", word: "keyword" }[kind], detail, info: info || undefined, apply: fields.includes("${") ? snippet(fields) : label };
}

/* An editor in place of a textarea, with its text. `changed` gets each new text, `solve` runs it, `list` gives completions. */
export function create({ parent, text, label, keywords, changed, solve, list }) {
  const look = EditorView.theme({ "&": { color: "inherit" }, ".cm-content": { caretColor: "var(--ink)", minHeight: "14rem" }, ".cm-cursor": { borderLeftColor: "var(--ink)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "rgba(9, 105, 218, .3)" } });
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        keymap.of([{ key: "Mod-Enter", run: () => { solve(); return true; } }, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
        lineNumbers(), highlightSpecialChars(), drawSelection(), history(), bracketMatching(), language(keywords), syntaxHighlighting(style), look,
        autocompletion({ override: [context => completed(context, list)] }),
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of(update => { if (update.docChanged) changed(update.state.doc.toString()); }),
      ],
    }),
  });
  return {
    get: () => view.state.doc.toString(),
    /* Replaces the text; one undo brings the old one back. */
    put: of => {
      if (of === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: of }, selection: { anchor: 0 }, annotations: Transaction.addToHistory.of(true), userEvent: "input.replace", scrollIntoView: true });
    },
    /* Marks words at their lines and columns, from 1, in place of earlier marks, and moves to the first error. */
    mark: marks => {
      const all = marks.map(({ line, column, severity, message }) => {
        const at = view.state.doc.line(Math.min(line, view.state.doc.lines)), from = Math.min(at.from + column - 1, at.to);
        return { from, to: from + (at.text.slice(from - at.from).match(/^\w+|^./) || [""])[0].length, severity, message };
      });
      view.dispatch(setDiagnostics(view.state, all));
      const error = all.find(m => m.severity === "error");
      if (error) { view.dispatch({ selection: { anchor: error.from, head: error.to }, scrollIntoView: true }); view.focus(); }
    },
  };
}
