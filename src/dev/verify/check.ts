/** One check of a deployment, and the table of all. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { ROOT } from "../bundle.ts";
import { NAME, type Visit } from "./visit.ts";

export interface Check {
  name: string;
  /** @returns a text on the result @throws NotAsked, or an Error that says what is wrong */
  run(visit: Visit): Promise<string>;
}

/** The check was not asked for. */
export class NotAsked extends Error {}

type Result = "ok" | "failed" | "left out";

/** Runs the checks in turn, also after a failure, with a row for each. @returns whether all passed */
export async function runChecks(
  checks: readonly Check[],
  visit: Visit,
  say: (row: string) => void,
): Promise<boolean> {
  const width = Math.max(...checks.map(({ name }) => name.length));
  let allWell = true;
  for (const { name, run } of checks) {
    const began = performance.now();
    const [result, seen] = await run(visit).then(
      (text): [Result, string] => ["ok", text],
      (error: unknown): [Result, string] => [
        error instanceof NotAsked ? "left out" : "failed",
        error instanceof Error ? error.message : String(error),
      ],
    );
    allWell &&= result !== "failed";
    const seconds = `${((performance.now() - began) / 1000).toFixed(1)} s`;
    say(`${name.padEnd(width)}  ${result.padEnd(8)}  ${seconds.padStart(8)}  ${seen}`);
  }
  return allWell;
}

const PAGES = [
  "/",
  "/health",
  "/set-up",
  "/docs",
  "/v1/openapi.json",
  "/v1/models",
  "/auspex-runner.tgz",
  "/auspex.tgz",
  "/auspex-webhooks.tgz",
];

const FOR_TOKENS = /^\/(?:docs|v1\/)/;

export const pages: Check = {
  name: "Pages",
  async run({ url, token }) {
    const answers = await Promise.all(
      PAGES.map(async (path) => {
        // A closed deployment requires the token. Pages of the dashboard take none.
        const headers = { ...(FOR_TOKENS.test(path) && { authorization: `Bearer ${token}` }) };
        const signal = AbortSignal.timeout(30_000);
        const response = await fetch(url + path, { headers, signal });
        await response.body?.cancel();
        return response.ok ? [] : [`${path} returned ${response.status}`];
      }),
    );
    if (answers.flat().length > 0) throw new Error(answers.flat().join(", "));
    return `${PAGES.length} available: ${PAGES.join(" ")}`;
  },
};

/** A response of 400 or above is a failure. */
const CURL_SETTINGS = "fail-with-body\nsilent\nshow-error\nmax-time = 120\n";

/** Runs the call of README.md with the names of the check, on a model published with the process engine. */
export const readmeCalls: Check = {
  name: "README's call",
  async run({ url, token, folder, models }) {
    const digest = models.find(({ manifest }) => manifest.name === "text-generation")?.digest ?? "";
    const script = [published(digest), withOwnNames(await callInReadme())].join("\n");
    await writeFile(join(folder, ".curlrc"), CURL_SETTINGS);
    const shell = spawn("bash", ["-euo", "pipefail", "-c", script], {
      env: { PATH: process.env.PATH, HOME: folder, AUSPEX_URL: url, AUSPEX_TOKEN: token },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, error, [code]] = await Promise.all([
      text(shell.stdout),
      text(shell.stderr),
      once(shell, "close"),
    ]);
    if (code !== 0) throw new Error(`curl failed (${code}): ${error}${out}`.trim());
    const outputs = out.match(/^event: output$/gm) ?? [];
    if (!/"status":"succeeded"/.test(out) || outputs.length === 0)
      throw new Error(`the stream ended early: ${out.slice(-500)}`);
    return `created a model, published a version, streamed ${outputs.length} outputs from a runner on this machine`;
  },
};

const published = (digest: string) => `
post() { curl "$AUSPEX_URL/v1$1" -H "Authorization: Bearer $AUSPEX_TOKEN" -H 'Content-Type: application/json' -d "$2"; }
post /models '{"name": "text-generation", "visibility": "public", "hardware_identifier": "${NAME}"}'
post /models/${NAME}/text-generation/versions '{"release_notes": "First version", "container_image_digest": "${digest}",
  "schemas": {"prediction": {"input": {"type": "object"}, "output": {}}}}'`;

/** The last shell block of "Publish a model and call it". */
async function callInReadme(): Promise<string> {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const [, part = ""] = /^## Publish a model and call it$([\s\S]*?)^## /m.exec(readme) ?? [];
  const block = [...part.matchAll(/^```sh.*\n([\s\S]*?)^```$/gm)].at(-1)?.[1];
  if (!block?.includes("curl")) throw new Error("README.md has no call any more.");
  return block;
}

function withOwnNames(script: string): string {
  const names = {
    "ada/greeter": `${NAME}/text-generation`,
    '"name": "Ada"': '"prompt": "The Queen"',
  };
  return Object.entries(names).reduce((text, [example, own]) => {
    if (!text.includes(example)) throw new Error(`README.md does not say ${example} any more.`);
    return text.replaceAll(example, own);
  }, script);
}
