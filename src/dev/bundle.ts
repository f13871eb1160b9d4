/** Builds the production bundle that `wrangler deploy` would upload. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The variable that tells the build command of wrangler.toml to leave the assets as they are. */
export const ASSETS_BUILT = "AUSPEX_ASSETS_BUILT";

/** @returns the Worker's script */
export async function bundle(
  outdir: string,
  { assetsBuilt = false }: { assetsBuilt?: boolean } = {},
): Promise<string> {
  const wrangler = createRequire(import.meta.url).resolve("wrangler/package.json");
  const bin = join(dirname(wrangler), "bin/wrangler.js");
  const args = ["deploy", "--dry-run", "--outdir", outdir, "--metafile"];
  await promisify(execFile)(process.execPath, [bin, ...args], {
    cwd: ROOT,
    env: {
      ...process.env,
      WRANGLER_SEND_METRICS: "false",
      CI: "true",
      ...(assetsBuilt && { [ASSETS_BUILT]: "true" }),
    },
  });
  return readFile(join(outdir, "worker.js"), "utf8");
}

/** The bundler's list of the files in a bundle. */
export const METAFILE = "bundle-meta.json";
