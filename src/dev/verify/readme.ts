/** README's calls, as they stand, but for the names that stand for one's own. */
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
  name: "README's calls",
  async run({ url, token, folder, models }) {
    const digest = models.find(({ manifest }) => manifest.name === "story")?.digest ?? "";
    const script = withOwnNames(await callsInReadme(), { "sha256:…": digest });
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

/** The shell block of "Publish a model and call it". */
async function callsInReadme(): Promise<string> {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const [, block] =
    /^## Publish a model and call it$[\s\S]*?^```sh.*\n([\s\S]*?)^```$/m.exec(readme) ?? [];
  if (block === undefined) throw new Error("README.md has no calls any more.");
  return block;
}

function withOwnNames(script: string, others: Record<string, string>): string {
  const names = { "ada/": `${NAME}/`, '"l40s"': `"${NAME}"`, ...others };
  return Object.entries(names).reduce((text, [example, own]) => {
    if (!text.includes(example)) throw new Error(`README.md does not say ${example} any more.`);
    return text.replaceAll(example, own);
  }, script);
}
