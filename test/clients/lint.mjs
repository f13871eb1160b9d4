/** Prints the objections of spectral and redocly to a document, by their recommended rules. */
import { readFile } from "node:fs/promises";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import core from "@stoplight/spectral-core";
import parsers from "@stoplight/spectral-parsers";
import rulesets from "@stoplight/spectral-rulesets";

const [path = ""] = process.argv.slice(2);
const source = await readFile(path, "utf8");

/** The severity of an error in spectral. */
const ERROR = 0;
const spectral = new core.Spectral();
spectral.setRuleset({ extends: [[rulesets.oas, "recommended"]] });
const found = await spectral.run(new core.Document(source, parsers.Json, path));
for (const { severity, code, path: at, message } of found) {
  if (severity === ERROR) console.log(`spectral: ${code}: ${at.join("/")}: ${message}`);
}

const config = await createConfig({ extends: ["recommended"] });
for (const one of await lintFromString({ source, absoluteRef: path, config })) {
  console.log(`redocly: ${one.ruleId}: ${one.location[0]?.pointer}: ${one.message}`);
}
