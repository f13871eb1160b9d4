/**
 * Keeps what a release deploys, for the tests of old code beside new: its Worker's script and its
 * runner's, built from its tag with the packages of its lock file.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { ROOT } from "../../src/dev/bundle.ts";
import { misused, readCommandLine } from "../../src/dev/command-line.ts";
import { KEPT, type Release } from "./release.ts";

const run = promisify(execFile);

const USAGE = "npm run keep-release -- v0.1.0";

const [tag] = readCommandLine(USAGE, { allowPositionals: true }).positionals;
if (tag === undefined) misused(USAGE, "Which release? Name its tag.");
await run("git", ["rev-parse", "--verify", `${tag}^{commit}`], { cwd: ROOT }).catch(() =>
  misused(USAGE, `There is no tag ${tag} here. Fetch it first: git fetch --tags`),
);

const folder = await mkdtemp(join(tmpdir(), "auspex-release-"));
try {
  await run("git", ["worktree", "add", "--detach", folder, tag], { cwd: ROOT });
  console.log(`Building ${tag} …`);
  await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder });
  await run("npm", ["run", "bundle"], { cwd: folder });
  await run("tar", ["-xzf", ".auspex/assets/auspex-runner.tgz"], { cwd: folder });
  const { stdout } = await run("git", ["rev-parse", "HEAD"], { cwd: folder });
  const release: Release = {
    tag,
    commit: stdout.trim(),
    runner_version: JSON.parse(await readFile(join(folder, "package/package.json"), "utf8"))
      .version,
  };
  await mkdir(KEPT, { recursive: true });
  await writeFile(join(KEPT, "release.json"), `${JSON.stringify(release, null, 2)}\n`);
  for (const [name, built] of [
    ["worker.js", ".auspex/bundle/worker.js"],
    ["runner.js", "package/dist/main.js"],
  ] as const) {
    const bytes = brotliCompressSync(await readFile(join(folder, built)));
    await writeFile(join(KEPT, `${name}.br`), bytes);
    console.log(`${name}: ${Math.round(bytes.length / 1_000)} KB`);
  }
} finally {
  await run("git", ["worktree", "remove", "--force", folder], { cwd: ROOT }).catch(() => {});
  await rm(folder, { recursive: true, force: true });
}
