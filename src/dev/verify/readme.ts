/**
 * README's call, as it stands, but for the names that stand for one's own. What it calls is published before: README
 * does so with the command `auspex`, which needs Docker.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { ROOT } from "../bundle.ts";
import type { Check } from "./check.ts";
import { NAME } from "./visit.ts";

/** A response of 400 or above is a failure. */
const CURL_SETTINGS = "fail-with-body\nsilent\nshow-error\nmax-time = 120\n";

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
      throw new Error(`the stream did not end well: ${out.slice(-500)}`);
    return `a model made, a version published, ${outputs.length} outputs streamed by a runner on this machine`;
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
