/** Reads the facts that an image in the deployment's registry states. */
import type { z } from "zod";
import { accessToPull } from "../../domain/accounts/access.ts";
import { checkIsImage, type ImageFacts, imageFacts } from "../../domain/images/image-facts.ts";
import { parseUntrusted } from "../../domain/images/openapi-document.ts";
import { LostImage, selectImage, UnfitImage } from "../../domain/images/select-image.ts";
import { type ShownLabel, shownLabels } from "../../domain/images/shown-labels.ts";
import {
  type ImageConfig,
  type Index,
  imageConfig,
  index,
  kindOf,
  MAX_CONFIG_BYTES,
  MAX_MANIFEST_BYTES,
  type Manifest,
  manifest,
} from "../../protocol/oci.ts";
import { modelOfRepository } from "../../protocol/registry.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { type BlobPlace, findLinkedBlob } from "../../storage/registry/blobs.ts";
import {
  type FoundManifest,
  findManifest,
  touchManifests,
} from "../../storage/registry/manifests.ts";
import { getObject } from "../../storage/registry/objects.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";

/** The size up to which a manifest is read for a page: ordinary manifests have a few KB. */
const MAX_SHOWN_MANIFEST_BYTES = 256 * 1024;

/** The layers that are shown at most. Docker itself takes 127. */
const MAX_LAYERS = 200;

export interface ReadImage {
  /** The digest of what the reference names: an index, if it is one. */
  digest: string;
  facts: ImageFacts;
}

export interface OpenImage {
  /** The manifest that the reference names: an index, if it is one. */
  named: FoundManifest;
  bundle: Index | undefined;
  image: Manifest;
  config: ImageConfig;
}

/**
 * Returns undefined if the model's repository has no such image.
 * @param reference a tag or a digest
 * @throws UnfitImage if it cannot be a version
 */
export async function readImage(
  services: Services,
  modelId: string,
  reference: string,
): Promise<ReadImage | undefined> {
  const open = await openImage(services, modelId, reference, MAX_MANIFEST_BYTES);
  if (!open) return undefined;
  const { named, image, config, bundle } = open;
  // The manifest is kept long enough for the caller to write what refers to it.
  await touchManifests(services.db, modelId, [named.digest], Date.now());
  return { digest: named.digest, facts: imageFacts(image, config, bundle) };
}

/**
 * Reads an image without the facts that a version needs.
 * @param maxBytes of a manifest
 * @throws UnfitImage if it is no image, or has lost something
 */
async function openImage(
  services: Services,
  modelId: string,
  reference: string,
  maxBytes: number,
): Promise<OpenImage | undefined> {
  const { db } = services;
  const named = await findManifest(db, modelId, reference);
  if (!named) return undefined;
  const isIndex = kindOf(named.media_type) === "index";
  const bundle = isIndex ? await read(services, named, index, "manifest", maxBytes) : undefined;
  const own = bundle ? await findManifest(db, modelId, selectImage(bundle).digest) : named;
  if (!own) throw gone("manifest");
  const image = await read(services, own, manifest, "manifest", maxBytes);
  checkIsImage(image);
  const blob = await findLinkedBlob(db, modelId, image.config.digest);
  if (!blob) throw gone("configuration");
  const config = await read(services, blob, imageConfig, "configuration", MAX_CONFIG_BYTES);
  return { named, bundle, image, config };
}

/** Reads a whole blob and parses it. */
async function read<T extends z.ZodType>(
  { env }: Services,
  { key, size }: BlobPlace,
  shape: T,
  what: "manifest" | "configuration",
  maxBytes: number,
): Promise<z.infer<T>> {
  if (size > maxBytes)
    throw new UnfitImage(`Its ${what} has ${size} bytes. The limit is ${maxBytes}.`);
  const object = await getObject(env.IMAGES, key);
  if (!object) throw gone(what);
  const parsed = shape.safeParse(parseUntrusted(await object.text()));
  if (parsed.success) return parsed.data;
  throw new UnfitImage("It is not a valid container image.");
}

const gone = (what: string) => new LostImage(`Its ${what} is not in the registry. Push it again.`);

export interface ImageContent {
  layers: { digest: string; size: number }[];
  /** How many layers there are besides these. */
  moreLayers: number;
  labels: ShownLabel[];
  moreLabels: number;
}

export type DescribedImage =
  /** The image is in another registry: nothing is known of it. */
  | { kind: "elsewhere" }
  /** The image is in this registry, but a part of it is missing. */
  | { kind: "gone" }
  /** The image is in this registry, and the user may run it and not download it. */
  | { kind: "closed" }
  | { kind: "open"; content: ImageContent | undefined };

export async function describeImage(
  services: Services,
  caller: Caller | undefined,
  model: DetailedModelRow,
  version: VersionRow,
): Promise<DescribedImage> {
  const { configuration, repository, container_image_digest: digest } = version;
  const modelId = modelOfRepository(configuration.image ?? repository);
  if (modelId === undefined) return { kind: "elsewhere" };
  const place = {
    id: model.id,
    owner_id: model.owner.id,
    visibility: model.visibility,
    level: model.level,
  };
  if (accessToPull(caller, undefined, place) !== "granted") {
    const isThere = await findManifest(services.db, modelId, digest);
    return { kind: isThere ? "closed" : "gone" };
  }
  try {
    const open = await openImage(services, modelId, digest, MAX_SHOWN_MANIFEST_BYTES);
    if (!open) return { kind: "gone" };
    const { layers } = open.image;
    const { labels, more: moreLabels } = shownLabels(open.config.config.Labels);
    const content = {
      layers: layers.slice(0, MAX_LAYERS).map((layer) => ({
        digest: layer.digest,
        size: layer.size,
      })),
      moreLayers: Math.max(0, layers.length - MAX_LAYERS),
      labels,
      moreLabels,
    };
    return { kind: "open", content };
  } catch (error) {
    if (error instanceof LostImage) return { kind: "gone" };
    // The manifest is too large to be shown.
    if (error instanceof UnfitImage) return { kind: "open", content: undefined };
    throw error;
  }
}
