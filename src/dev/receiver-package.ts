/**
 * The package for receivers of webhooks, which a deployment serves at /auspex-webhooks.tgz.
 * On its own: node src/dev/receiver-package.ts FOLDER
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Format, transform } from "esbuild";
import { tarball } from "../../runner/src/lib/tarball.ts";
import { ROOT } from "./bundle.ts";

const RECEIVER = join(ROOT, "src/receiver");

/** Writes the package into the folder: one module, as ESM and CommonJS, and its types. */
export async function packReceiver(folder: string): Promise<void> {
  const source = await read("index.ts");
  const [module, common, types, manifest, readme, license] = await Promise.all([
    scriptOf(source, "esm"),
    scriptOf(source, "cjs"),
    declarations(),
    read("package.json"),
    read("README.md"),
    readFile(join(ROOT, "LICENSE"), "utf8"),
  ]);
  const bytes = await tarball("package", [
    ["package.json", manifest],
    ["README.md", readme],
    ["LICENSE", license],
    ["dist/index.js", module],
    ["dist/index.cjs", common],
    ["dist/index.d.ts", types],
    ["dist/index.d.cts", types],
  ]);
  await writeFile(join(folder, "auspex-webhooks.tgz"), bytes);
}

const read = (name: string) => readFile(join(RECEIVER, name), "utf8");

const scriptOf = async (source: string, format: Format) =>
  (await transform(source, { loader: "ts", format, target: "es2022" })).code;

async function declarations(): Promise<string> {
  const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
  const folder = await mkdtemp(join(tmpdir(), "auspex-types-"));
  try {
    const compile = [join(dirname(typescript), "bin/tsc"), "--project", RECEIVER];
    const emit = ["--noEmit", "false", "--incremental", "false", "--tsBuildInfoFile", "null"];
    await promisify(execFile)(process.execPath, [...compile, ...emit, "--outDir", folder]);
    return await readFile(join(folder, "index.d.ts"), "utf8");
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (import.meta.main) await packReceiver(process.argv[2] ?? ".");
