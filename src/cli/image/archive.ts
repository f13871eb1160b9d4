/**
 * Reads an image out of what `docker save` and `podman save` write, of any version, and out of an OCI
 * layout. A tar is read in one pass, and what names its entries, manifest.json or index.json, may be the
 * last of them: small entries are kept in memory, large ones can only be layers.
 */

import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { extract, type Header } from "tar-stream";
import { z } from "zod";
import {
  type Descriptor,
  index,
  kindOf,
  manifest,
  type Platform,
  platform,
} from "../../protocol/oci.ts";
import { Failure, Misuse } from "../failure.ts";

/** The platform of runners. */
export const PLATFORM = "linux/amd64";

/** The registry reads no larger configuration. */
const SMALL_BYTES = 1024 * 1024;

export const SAVE_AGAIN =
  "Save the image with docker save --output image.tar NAME, or with skopeo copy docker-daemon:NAME oci:FOLDER.";

const listing = z
  .array(
    z.object({
      Config: z.string(),
      RepoTags: z.array(z.string()).nullish(),
      Layers: z.array(z.string()).nullable(),
    }),
  )
  .min(1);

export interface Entry {
  path: string;
  size: number;
  bytes: AsyncIterable<Buffer>;
  /** The path that a link points to. */
  target?: string | undefined;
}

/** A layer of an OCI layout, which is pushed as it is. */
export type Blob = Pick<Descriptor, "mediaType" | "digest" | "size">;

export interface ArchiveLayer {
  path: string;
  /** The content of a small layer; `OnLarge` has read that of a large one. */
  small: Buffer | undefined;
  /** The blob of the layer; undefined for a layer of `docker save`. */
  blob: Blob | undefined;
}

export interface Archive {
  config: { digest: string; bytes: Buffer };
  /** Layers from the bottom up. */
  layers: ArchiveLayer[];
  /** The manifest of an OCI layout; `docker save` writes none. */
  manifest: { mediaType: string; bytes: Buffer } | undefined;
}

/** Reads a large entry to its end. @param blob of an OCI layout, once it is known */
export type OnLarge = (
  path: string,
  bytes: AsyncIterable<Buffer>,
  size: number,
  blob?: Blob,
) => Promise<void>;

/** @param name of the image, for an archive that has several. @throws Failure */
export async function readArchive(
  entries: AsyncIterable<Entry>,
  onLarge: OnLarge,
  name?: string,
): Promise<Archive> {
  const contents = new Contents();
  for await (const { path, size, bytes, target } of entries) {
    if (target !== undefined) contents.links.set(path, target);
    else if (size <= SMALL_BYTES) contents.small.set(path, await buffer(bytes));
    else {
      contents.large.add(path);
      await onLarge(path, bytes, size);
    }
  }
  const listed = contents.small.get("manifest.json");
  if (listed) return savedImage(contents, parsed(listing, listed), name);
  const layout = contents.small.get("index.json");
  if (layout) return layoutImage(contents, layout, name);
  throw new Failure(`The archive has no manifest.json or index.json. ${SAVE_AGAIN}`);
}

class Contents {
  readonly small = new Map<string, Buffer>();
  readonly large = new Set<string>();
  readonly links = new Map<string, string>();

  /** @throws Failure if no entry has this path */
  require(name: string): { path: string; small: Buffer | undefined } {
    const path = this.links.get(name) ?? name;
    const small = this.small.get(path);
    if (small || this.large.has(path)) return { path, small };
    throw new Failure(
      `The image archive is incomplete: ${path} is missing. Build, pull or save the image again for ${PLATFORM}, then run the same command again.`,
    );
  }

  /** @throws Failure also if the blob is larger than 1 MiB, or does not match its digest */
  blob(digest: string): Buffer {
    const { path, small } = this.require(pathOf(digest));
    if (small && digestOf(small) === digest) return small;
    throw new Failure(`${path} of the archive is damaged or larger than 1 MiB. ${SAVE_AGAIN}`);
  }
}

/** The image of a manifest.json of `docker save`, which may list an image once for each platform. */
function savedImage(
  contents: Contents,
  listed: z.infer<typeof listing>,
  name: string | undefined,
): Archive {
  const images = listed.map(({ Config, RepoTags, Layers }) => {
    const { small: config } = contents.require(Config);
    if (!config)
      throw new Failure("The image configuration is larger than 1 MiB. Shorten its labels.");
    const names = RepoTags?.length ? RepoTags : [digestOf(config)];
    return { names, platform: platformIn(config), config, paths: Layers ?? [] };
  });
  const { config, paths } = pick(images, name);
  const layers = paths.map((path) => ({ ...contents.require(path), blob: undefined }));
  return { config: { digest: digestOf(config), bytes: config }, layers, manifest: undefined };
}

function layoutImage(contents: Contents, layout: Buffer, name: string | undefined): Archive {
  const { mediaType, digest } = pick([...imagesIn(contents, layout)], name).descriptor;
  const bytes = contents.blob(digest);
  const { config, layers } = parsed(manifest, bytes);
  return {
    config: { digest: config.digest, bytes: contents.blob(config.digest) },
    layers: layers.map((blob) => ({ ...contents.require(pathOf(blob.digest)), blob })),
    manifest: { mediaType, bytes },
  };
}

interface Candidate {
  names: string[];
  /** Returns the platform, as `linux/amd64`; undefined for a manifest of no image, such as a signature. */
  platform: string | undefined;
}

/** @param names of the index that the index in `bytes` is a part of */
function* imagesIn(
  contents: Contents,
  bytes: Buffer,
  names?: string[],
): Generator<Candidate & { descriptor: Descriptor }> {
  for (const descriptor of parsed(index, bytes).manifests) {
    const { digest, mediaType } = descriptor;
    const own = names ?? namesOf(descriptor);
    const named = descriptor.platform && textOf(descriptor.platform);
    if (kindOf(mediaType) === "index") yield* imagesIn(contents, contents.blob(digest), own);
    // An index also lists images of platforms whose blobs the archive does not have.
    else if (named !== undefined && named !== PLATFORM)
      yield { descriptor, names: own, platform: named };
    else {
      const { config } = parsed(manifest, contents.blob(digest));
      yield { descriptor, names: own, platform: platformIn(contents.blob(config.digest)) };
    }
  }
}

const REFERENCES = ["io.containerd.image.name", "org.opencontainers.image.ref.name"];

function namesOf({ annotations, digest }: Descriptor): string[] {
  const names = REFERENCES.flatMap((key) => annotations[key] ?? []);
  return names.length > 0 ? names : [digest];
}

/** Returns the image of that name, or the only one, for the platform of runners. @throws Misuse, Failure */
function pick<Image extends Candidate>(images: Image[], name: string | undefined): Image {
  const all = images.filter((one) => one.platform !== undefined);
  const isIt = (one: string) => one === name || one === `${name}:latest`;
  const named = name === undefined ? all : all.filter(({ names }) => names.some(isIt));
  const [found, ...others] = named.filter((one) => one.platform === PLATFORM);
  const list = (texts: string[]) => [...new Set(texts)].join(", ");
  if (others.length > 0)
    throw new Misuse(
      `The archive has several images: ${list(named.map(({ names }) => names[0] ?? ""))}. Choose one with --image NAME.`,
    );
  if (found) return found;
  if (named.length === 0)
    throw new Misuse(
      all.length > 0
        ? `Image "${name}" not found in the archive. Available: ${list(all.flatMap(({ names }) => names))}.`
        : "The archive has no image.",
    );
  throw new Failure(
    `The image is built for ${list(named.map((one) => one.platform ?? ""))}, but runners need ${PLATFORM}. Rebuild it with --platform ${PLATFORM} and save it again.`,
  );
}

function parsed<Value>(schema: z.ZodType<Value>, bytes: Buffer): Value {
  try {
    return schema.parse(JSON.parse(bytes.toString()));
  } catch {
    throw new Failure(`The archive is not an image. ${SAVE_AGAIN}`);
  }
}

const textOf = ({ os, architecture }: Platform): string => `${os}/${architecture}`;

function platformIn(config: Buffer): string | undefined {
  const { data } = platform.safeParse(JSON.parse(config.toString()));
  return data && textOf(data);
}

const pathOf = (digest: string): string => `blobs/${digest.replace(":", "/")}`;

export const digestOf = (bytes: Buffer): string =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

export async function* tarEntries(archive: Readable, signal: AbortSignal): AsyncGenerator<Entry> {
  const entries = extract();
  const reading = pipeline(archive, entries, { signal });
  // The entries fail with the same error.
  reading.catch(() => {});
  for await (const entry of entries) {
    const { header } = entry;
    const path = posix.normalize(header.name);
    const target = targetOf(header);
    const size = header.size ?? 0;
    if (target !== undefined || header.type === "file")
      yield { path, size, bytes: buffersOf(entry), target };
    entry.resume();
  }
  await reading;
}

async function* buffersOf(entry: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const chunk of entry) if (Buffer.isBuffer(chunk)) yield chunk;
}

/** Docker's older store writes a layer that an image has twice as a link to the first. */
function targetOf({ type, name, linkname }: Header): string | undefined {
  if (!linkname) return undefined;
  if (type === "symlink") return posix.normalize(posix.join(posix.dirname(name), linkname));
  return type === "link" ? posix.normalize(linkname) : undefined;
}
