/**
 * The layer of the base image as a registry has stored it, kept for the registries of other files and of
 * later runs. Each file has a registry of its own, and Docker compresses that layer for 9 s of a processor.
 * If Docker has pushed a layer anywhere, it asks whether the repository has it, and does not push it again.
 */
import { copyFile, mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const KEPT = fileURLToPath(new URL("../../node_modules/.cache/base-layer", import.meta.url));
const NAME = /^[0-9a-f]{64}$/;
const REGISTRY = "docker/registry/v2";

/** Puts the layer into a repository before an image is pushed to it. @param root of the registry's files */
export async function giveBaseLayer(root: string, repository: string): Promise<void> {
  for (const hex of await kept()) {
    const link = join(REGISTRY, "repositories", repository, "_layers/sha256", hex, "link");
    await place(join(KEPT, hex), join(root, dataOf(hex)));
    await mkdir(dirname(join(root, link)), { recursive: true });
    await writeFile(join(root, link), `sha256:${hex}`);
  }
}

/** Keeps the lowest layer of an image that was pushed, and no other. @param digest of the layer */
export async function keepBaseLayer(root: string, digest: string): Promise<void> {
  const hex = digest.replace("sha256:", "");
  for (const other of await kept()) if (other !== hex) await rm(join(KEPT, other), { force: true });
  await place(join(root, dataOf(hex)), join(KEPT, hex));
}

const kept = async () => (await readdir(KEPT).catch(() => [])).filter((name) => NAME.test(name));

const dataOf = (hex: string) => join(REGISTRY, "blobs/sha256", hex.slice(0, 2), hex, "data");

/** Places a file as a whole, unless it is there: other test files place it, too. */
async function place(from: string, to: string): Promise<void> {
  if (await stat(to).catch(() => undefined)) return;
  await mkdir(dirname(to), { recursive: true });
  const unfinished = `${to}.${process.pid}`;
  await copyFile(from, unfinished);
  await rename(unfinished, to);
}
