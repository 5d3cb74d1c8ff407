"use strict";
const { workspace, window } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client, output;

/* Shows the text that "run" and "why" return; a failure is a message. */
async function shown(command, args, next) {
  const text = await next(command, args);
  if (typeof text !== "string") return;
  output.replace(text);
  output.show(true);
}

exports.activate = () => {
  const settings = workspace.getConfiguration("mowgli");
  output = window.createOutputChannel("Mowgli");
  client = new LanguageClient(
    "mowgli",
    "Mowgli",
    { command: settings.get("command"), args: ["lsp", "--timeout", String(settings.get("timeout"))] },
    { documentSelector: [{ language: "litmus" }], middleware: { executeCommand: shown } },
  );
  return client.start();
};

exports.deactivate = () => client && client.stop();
