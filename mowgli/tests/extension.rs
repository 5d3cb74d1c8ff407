//! The extension for VS Code, run by Node.js. VS Code itself and its client of language servers are replaced. The test
//! records what the extension asks of them, and starts the server that it names.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;

use super::needs::{Layer, Need, trial};

const NODE: Need = Need {
    tool: "Node.js",
    in_ci: false,
    missing: || {
        let is_there = Command::new("node").arg("--version").output().is_ok_and(|o| o.status.success());
        (!is_there).then(|| "there is no node".to_owned())
    },
};

pub fn trials() -> Vec<Trial> {
    vec![trial(
        "the_extension_starts_the_server_and_shows_outcomes",
        Layer::Quick,
        NODE,
        the_extension_starts_the_server_and_shows_outcomes,
    )]
}

/// Runs the extension with its manifest's settings. Its client opens a test, runs the first lens, and prints the output.
const SCRIPT: &str = r#"
const [folder, mowgli] = process.argv.slice(1), { spawn } = require("child_process"), Module = require("module");
const manifest = require(folder + "/package.json"), { properties } = manifest.contributes.configuration;
const settings = { command: mowgli, timeout: properties["mowgli.timeout"].default }, shown = [];
class LanguageClient {
  constructor(id, name, server, client) { Object.assign(this, { server, client }); }
  async start() {
    const { command, args } = this.server, [{ language }] = this.client.documentSelector;
    const child = spawn(command, args), waiting = new Map(), uri = "file:///a.litmus";
    let bytes = Buffer.alloc(0), asked = 0;
    const send = message => { const text = JSON.stringify({ jsonrpc: "2.0", ...message }); child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`); };
    const ask = (method, params) => new Promise(done => { waiting.set(++asked, done); send({ id: asked, method, params }); });
    child.stdout.on("data", data => {
      bytes = Buffer.concat([bytes, data]);
      for (let end; (end = bytes.indexOf("\r\n\r\n")) >= 0;) {
        const length = Number(/Content-Length: (\d+)/.exec(bytes.subarray(0, end))[1]), message = bytes.subarray(end + 4, end + 4 + length);
        if (message.length < length) return;
        bytes = bytes.subarray(end + 4 + length);
        const { id, result } = JSON.parse(message);
        if (waiting.has(id)) waiting.get(id)(result);
      }
    });
    await ask("initialize", { capabilities: {} });
    send({ method: "initialized", params: {} });
    send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: language, version: 1, text: "X86_TSO a\n{ x = 0; }\n P1 ;\n x := 1 ;\nallowed (x=1)\n" } } });
    const lenses = await ask("textDocument/codeLens", { textDocument: { uri } });
    for (const { command } of lenses) await this.client.middleware.executeCommand(command.command, command.arguments, (name, given) => ask("workspace/executeCommand", { command: name, arguments: given }));
    await this.client.middleware.executeCommand("mowgli.run", [], async () => undefined);
    this.stop = async () => { await ask("shutdown"); send({ method: "exit" }); return new Promise(done => child.on("exit", done)); };
  }
}
const replaced = {
  vscode: {
    workspace: { getConfiguration: name => name === "mowgli" ? { get: key => settings[key] } : null },
    window: { createOutputChannel: () => ({ replace: text => shown.push(text), show: () => {} }) },
  },
  "vscode-languageclient/node": { LanguageClient },
};
const load = Module._load;
Module._load = (name, ...rest) => replaced[name] || load(name, ...rest);
const extension = require(folder + "/" + manifest.main);
extension.activate().then(() => extension.deactivate()).then(code => console.log(JSON.stringify({ shown, code })));
"#;

/// Each lens shows its answer once, an answer that is a failure shows nothing, and the server ends with the extension.
fn the_extension_starts_the_server_and_shows_outcomes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../editors/vscode").canonicalize().unwrap();
    let ran = Command::new("node").args(["-e", SCRIPT]).arg(folder).arg(env!("CARGO_BIN_EXE_mowgli")).output().unwrap();
    let out: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    let [outcomes, why] = out["shown"].as_array().expect("texts").as_slice() else { panic!("{out}") };
    assert!(outcomes.as_str().is_some_and(|text| text.contains("States 1\nx=1;")), "{out}");
    assert!(why.as_str().is_some_and(|text| text.contains("(x=1) is possible")), "{out}");
    assert_eq!(out["code"], 0);
}
