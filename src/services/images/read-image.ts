/** Reads what an image in the deployment's registry says of itself. */
import type { z } from "zod";
import { checkIsImage, type ImageFacts, imageFacts } from "../../domain/images/image-facts.ts";
import { selectImage } from "../../domain/images/select-image.ts";
import { UnfitImage } from "../../domain/images/unfit-image.ts";
import { parseUntrusted } from "../../domain/images/untrusted-json.ts";
import { imageConfig, index, kindOf, MAX_CONFIG_BYTES, manifest } from "../../protocol/oci.ts";
import { findLinkedBlob } from "../../storage/registry/blobs.ts";
import {
  type FoundManifest,
  findManifest,
  touchManifests,
} from "../../storage/registry/manifests.ts";
import { getObject } from "../../storage/registry/objects.ts";
import type { Services } from "../services.ts";

export interface ReadImage {
  /** Of what the reference names: an index, if it is one. */
  digest: string;
  facts: ImageFacts;
}

/**
 * Undefined if the model's repository has no such image.
 * @param reference a tag or a digest
 * @throws UnfitImage if it cannot be a version
 */
export async function readImage(
  services: Services,
  modelId: string,
  reference: string,
): Promise<ReadImage | undefined> {
  const { db } = services;
  const named = await findManifest(db, modelId, reference);
  if (!named) return undefined;
  const isIndex = kindOf(named.media_type) === "index";
  const bundle = isIndex ? await read(services, named, index) : undefined;
  const own = bundle ? await findManifest(db, modelId, selectImage(bundle).digest) : named;
  if (!own) throw gone("manifest");
  const image = await read(services, own, manifest);
  checkIsImage(image);
  const blob = await findLinkedBlob(db, modelId, image.config.digest);
  if (!blob) throw gone("configuration");
  if (blob.size > MAX_CONFIG_BYTES) {
    const sizes = `${blob.size} bytes, and at most ${MAX_CONFIG_BYTES} are read`;
    throw new UnfitImage(`Its configuration has ${sizes}.`);
  }
  const config = await read(services, blob, imageConfig);
  // For as long as it takes to write what needs it from then on.
  await touchManifests(db, modelId, [named.digest], Date.now());
  return { digest: named.digest, facts: imageFacts(image, config, bundle) };
}

/** Small enough to be read whole. */
async function read<T extends z.ZodType>(
  { env }: Services,
  { key, digest }: Pick<FoundManifest, "digest" | "key">,
  shape: T,
): Promise<z.infer<T>> {
  const object = await getObject(env.IMAGES, key);
  if (!object) throw gone(digest);
  const parsed = shape.safeParse(parseUntrusted(await object.text()));
  if (parsed.success) return parsed.data;
  throw new UnfitImage("It is no container image: what it is made of has another form.");
}

const gone = (what: string) => new UnfitImage(`Its ${what} is not in the registry. Push it again.`);
