/**
 * Model folders are the process engine's images. A model's folder is `{owner}/{name}` below the
 * models directory: its path determines the owner, not its content.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { slug } from "../../../../src/protocol/common.ts";
import { configuration, createVersion, newSchemas } from "../../../../src/protocol/model.ts";
import { writtenInterface } from "../../../../src/protocol/runner.ts";
import type { ImageRequest } from "../engine.ts";

type ModelName = ImageRequest["model"];

export const MANIFEST = "auspex.json";

export const manifest = z.object({
  name: z.string().min(1),
  description: z.string().default(""),
  interface: writtenInterface.default("cog"),
  command: z.array(z.string()).min(1),
  schemas: newSchemas,
  compatibilities: createVersion.shape.compatibilities,
  configuration: configuration.prefault({}),
});
export type Manifest = z.infer<typeof manifest>;

export interface ModelFolder {
  directory: string;
  digest: string;
  /** The total size of the files in the digest. */
  bytes: number;
  manifest: Manifest;
}

/** Relative paths of a folder's files; hidden files and node_modules are not part of the model. */
export async function filesOf(directory: string, prefix = ""): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readdir(join(directory, prefix), { withFileTypes: true })) {
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    const path = `${prefix}${entry.name}`;
    if (entry.isDirectory()) files.push(...(await filesOf(directory, `${path}/`)));
    else if (entry.isFile()) files.push(path);
  }
  return files;
}

export const folderDigest = async (directory: string): Promise<string> =>
  (await measure(directory)).digest;

/** Hashes paths and contents in the order of the paths, each preceded by its length in bytes. */
async function measure(directory: string): Promise<Pick<ModelFolder, "digest" | "bytes">> {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const path of (await filesOf(directory)).sort()) {
    const { size } = await stat(join(directory, path));
    bytes += size;
    hash.update(`${Buffer.byteLength(path)}:${path}${size}:`);
    for await (const chunk of createReadStream(join(directory, path))) hash.update(chunk);
  }
  return { digest: `sha256:${hash.digest("hex")}`, bytes };
}

/** The direct subfolders of `directory` that have a manifest. */
export async function listModels(directory: string): Promise<ModelFolder[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const models: ModelFolder[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const model = await readModel(join(directory, entry.name));
    if (model) models.push(model);
  }
  return models;
}

/** Returns undefined if the folder has no manifest. */
async function readModel(directory: string): Promise<ModelFolder | undefined> {
  const path = join(directory, MANIFEST);
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  return { directory, ...(await measure(directory)), manifest: parseManifest(text, path) };
}

/** The current folder of a model; undefined if there is none, or the name is invalid. */
export async function findModel(
  models: string,
  { owner, name }: ModelName,
): Promise<ModelFolder | undefined> {
  // The names become part of a path.
  if (![owner, name].every((part) => slug.safeParse(part).success)) return undefined;
  return readModel(join(models, owner, name));
}

export async function listOwned(models: string): Promise<string[]> {
  const names: string[] = [];
  for (const owner of (await readdir(models)).sort()) {
    const folder = join(models, owner);
    // `stat` follows symbolic links.
    if (!slug.safeParse(owner).success || !(await stat(folder)).isDirectory()) continue;
    for (const { directory } of await listModels(folder))
      names.push(`${owner}/${basename(directory)}`);
  }
  return names;
}

function parseManifest(text: string, path: string): Manifest {
  try {
    return manifest.parse(JSON.parse(text));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new Error(`${path}: ${why}`, { cause: error });
  }
}
