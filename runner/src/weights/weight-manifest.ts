/**
 * A weight as Cog packs it: a manifest, whose configuration lists the files, each in one of the layers.
 * The model's owner writes both, so what they say is checked against itself and against limits.
 */

import { z } from "zod";
import { parseJson } from "../../../src/lib/json.ts";
import { digest } from "../../../src/protocol/common.ts";
import { type Manifest, MEDIA_TYPES, manifest } from "../../../src/protocol/oci.ts";
import { external } from "../../../src/run/failure.ts";

/** The limit of files in a weight. Repositories of models have some hundreds at most. */
export const MAX_FILES = 10_000;
/** 10,000 files take some 3 MB. */
export const MAX_CONFIGURATION_BYTES = 16 * 1024 * 1024;

/** A name of the file system, as Linux limits it: no part of a path has more bytes. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 1_024;

/** Bytes that each file may add to a layer: its headers and the padding of its last block. */
const FILE_OVERHEAD = 4_096;
/** Bytes for the end of an archive and a compressor's overhead. */
const LAYER_OVERHEAD = 1024 * 1024;

const COMPRESSIONS = {
  "application/vnd.oci.image.layer.v1.tar": "none",
  "application/vnd.oci.image.layer.v1.tar+gzip": "gzip",
  "application/vnd.oci.image.layer.v1.tar+zstd": "zstd",
} as const;
export type Compression = (typeof COMPRESSIONS)[keyof typeof COMPRESSIONS];

const configuration = z.object({
  files: z
    .array(
      z.object({
        path: z.string(),
        layer: digest,
        size: z.int().nonnegative(),
        digest,
      }),
    )
    .min(1)
    .max(MAX_FILES),
});

export interface LayerFile {
  path: string;
  size: number;
  digest: string;
}

export interface WeightLayer {
  digest: string;
  size: number;
  compression: Compression;
  files: LayerFile[];
  /** The largest size of the unpacked archive. */
  maxBytes: number;
}

/** @throws Failure */
export function parseManifest(text: string): Manifest {
  const parsed = manifest.safeParse(parseJson(text));
  if (parsed.data?.config.mediaType === MEDIA_TYPES.cogWeightConfig) return parsed.data;
  throw external("its manifest is not one of Cog's weights");
}

/** The layers that have files. @throws Failure */
export function readLayers({ layers }: Manifest, text: string): WeightLayer[] {
  const { data, error } = configuration.safeParse(parseJson(text));
  if (!data) throw external(`its list of files is invalid: ${z.prettifyError(error)}`);
  checkPaths(data.files.map(({ path }) => path));
  const read = new Map<string, WeightLayer>();
  for (const { layer: name, path, size, digest } of data.files) {
    const layer = read.get(name) ?? layerOf(layers, name);
    read.set(name, layer);
    layer.files.push({ path, size, digest });
    layer.maxBytes += size + FILE_OVERHEAD;
  }
  for (const { size, maxBytes } of read.values()) {
    if (size > maxBytes) throw external("one of its layers is larger than the files in it");
  }
  return [...read.values()];
}

function layerOf(layers: Manifest["layers"], name: string): WeightLayer {
  const layer = layers.find(({ digest }) => digest === name);
  if (!layer) throw external(`its manifest has no layer ${name}`);
  const { size, mediaType } = layer;
  const compression = Object.entries(COMPRESSIONS).find(([type]) => type === mediaType)?.[1];
  if (!compression)
    throw external(`it has a layer of the type ${mediaType}, which is not a tar archive`);
  return { digest: name, size, compression, files: [], maxBytes: LAYER_OVERHEAD };
}

/** Paths below the target, each of another file. @throws Failure */
function checkPaths(paths: string[]): void {
  const files = new Set(paths);
  if (files.size < paths.length) throw external("it has two files with the same path");
  for (const path of paths) {
    const problem = pathProblem(path);
    if (problem) throw external(`it has a file ${JSON.stringify(path.slice(0, 200))}: ${problem}`);
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      if (files.has(path.slice(0, end)))
        throw external(`${path.slice(0, end)} is a file and a folder`);
    }
  }
}

/** @returns what is wrong with a path below a weight's target */
export function pathProblem(path: string): string | undefined {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    return `paths can have at most ${MAX_PATH_BYTES} bytes`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it keeps out.
  if (/[\0-\x1f\x7f\\]/.test(path) || !path.isWellFormed()) {
    return "paths cannot contain control characters or backslashes";
  }
  const parts = path.split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) {
    return "paths must be below the target, without '.', '..' or empty parts";
  }
  return parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)
    ? `names can have at most ${MAX_NAME_BYTES} bytes`
    : undefined;
}
