/** The last release, as `npm run keep-release` has kept it. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { z } from "zod";
import { ROOT } from "../../src/dev/bundle.ts";

export const KEPT = join(ROOT, "test/skew/release");

const release = z.strictObject({ tag: z.string(), commit: z.string(), runner_version: z.string() });
export type Release = z.infer<typeof release>;

export interface UnpackedRelease extends Release {
  /** Paths of the scripts. */
  worker: string;
  runner: string;
}

export async function unpackRelease(folder: string): Promise<UnpackedRelease> {
  const kept = release.parse(JSON.parse(await readFile(join(KEPT, "release.json"), "utf8")));
  const [worker, runner] = [join(folder, "worker.js"), join(folder, "runner/dist/main.js")];
  await mkdir(join(folder, "runner/dist"), { recursive: true });
  const unpack = async (name: string, path: string) =>
    writeFile(path, brotliDecompressSync(await readFile(join(KEPT, `${name}.br`))));
  await Promise.all([unpack("worker.js", worker), unpack("runner.js", runner)]);
  // It reads its version from the manifest of its package.
  const manifest = { type: "module", version: kept.runner_version };
  await writeFile(join(folder, "runner/package.json"), JSON.stringify(manifest));
  return { ...kept, worker, runner };
}
