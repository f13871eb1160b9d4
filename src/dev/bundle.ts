/** The production bundle: what `wrangler deploy` would upload, written to a folder. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** @returns the script of the Worker. */
export async function bundle(outdir: string): Promise<string> {
  const wrangler = createRequire(import.meta.url).resolve("wrangler/package.json");
  const bin = join(dirname(wrangler), "bin/wrangler.js");
  const args = ["deploy", "--dry-run", "--outdir", outdir, "--metafile"];
  await promisify(execFile)(process.execPath, [bin, ...args], {
    cwd: ROOT,
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" },
  });
  return readFile(join(outdir, "worker.js"), "utf8");
}

/** What the bundler says of a bundle: which files are in it. */
export const METAFILE = "bundle-meta.json";
