/**
 * Reads what `docker save` and `podman save` write, of any version: a tar whose manifest.json, at its
 * end, names a configuration and layers. Before it, nobody knows what an entry is: small ones are kept,
 * large ones can only be layers.
 */

import { posix } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { extract, type Header } from "tar-stream";
import { z } from "zod";
import { Failure } from "../failure.ts";
import { PLATFORM } from "./engine.ts";

/** The registry reads no larger configuration. */
const SMALL_BYTES = 1024 * 1024;

const listing = z
  .array(z.object({ Config: z.string(), Layers: z.array(z.string()).nullable() }))
  .min(1);

const platform = z.object({ os: z.string(), architecture: z.string() });

export interface Archive {
  /** As it was written: its digest is that of the bytes. */
  config: Buffer;
  /** Paths, from the bottom up. What small ones have is here, what large ones have went to `onLarge`. */
  layers: { path: string; small: Buffer | undefined }[];
}

/** @param onLarge reads an entry to its end */
export async function readArchive(
  archive: Readable,
  onLarge: (path: string, bytes: AsyncIterable<Buffer>, size: number) => Promise<void>,
  signal: AbortSignal,
): Promise<Archive> {
  const small = new Map<string, Buffer>();
  const large = new Set<string>();
  const links = new Map<string, string>();
  const entries = extract();
  const reading = pipeline(archive, entries, { signal });
  // What it fails with comes out of the entries, too.
  reading.catch(() => {});
  for await (const entry of entries) {
    const { header } = entry;
    const path = posix.normalize(header.name);
    const target = targetOf(header);
    if (target) links.set(path, target);
    if (header.type !== "file" || header.size === undefined) entry.resume();
    else if (header.size <= SMALL_BYTES) small.set(path, await buffer(entry));
    else {
      large.add(path);
      await onLarge(path, buffersOf(entry), header.size);
    }
  }
  await reading;
  const require = (path: string) => {
    if (!small.has(path) && !large.has(path))
      throw new Failure(
        `The engine's archive of the image is incomplete: ${path} is missing. Build or pull the image again for ${PLATFORM}, then run the same command again.`,
      );
  };
  const listed = small.get("manifest.json");
  if (!listed) throw new Failure("The engine's archive has no manifest.json: update the engine.");
  const images = listing.parse(JSON.parse(listed.toString()));
  // Docker's newer store saves an image for each platform that it has.
  const image = images.find(({ Config }) => isForRunners(small.get(Config))) ?? images[0];
  const configPath = image?.Config ?? "";
  require(configPath);
  const config = small.get(configPath);
  if (!config)
    throw new Failure("The image's configuration is larger than 1 MiB: shorten its labels.");
  const layers = (image?.Layers ?? []).map((name) => {
    const path = links.get(name) ?? name;
    require(path);
    return { path, small: small.get(path) };
  });
  return { config, layers };
}

function isForRunners(config: Buffer | undefined): boolean {
  const { data } = platform.safeParse(JSON.parse(config?.toString() ?? "null"));
  return data !== undefined && `${data.os}/${data.architecture}` === PLATFORM;
}

async function* buffersOf(entry: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const chunk of entry) if (Buffer.isBuffer(chunk)) yield chunk;
}

/** A layer that an image has twice is a link to itself. */
function targetOf({ type, name, linkname }: Header): string | undefined {
  if (!linkname) return undefined;
  if (type === "symlink") return posix.normalize(posix.join(posix.dirname(name), linkname));
  return type === "link" ? posix.normalize(linkname) : undefined;
}
