/**
 * Reads the manifests of Cog's managed weights, which are pushed next to an image, and where each weight
 * belongs.
 */

import { parseUntrusted } from "../../domain/images/openapi-document.ts";
import { UnfitImage, type WeightEntry } from "../../domain/images/select-image.ts";
import { MEDIA_TYPES, manifest as manifestShape } from "../../protocol/oci.ts";
import {
  type ImageWeight,
  MAX_WEIGHTS,
  overlapProblem,
  targetProblem,
} from "../../protocol/weights.ts";
import { findManifest } from "../../storage/registry/manifests.ts";
import { getObject } from "../../storage/registry/objects.ts";
import type { Services } from "../services.ts";

/** @throws UnfitImage if a runner could not mount them */
export async function readWeights(
  services: Services,
  modelId: string,
  entries: readonly WeightEntry[],
): Promise<ImageWeight[]> {
  if (entries.length > MAX_WEIGHTS) {
    throw new UnfitImage(`It has ${entries.length} weights, and at most ${MAX_WEIGHTS} are taken.`);
  }
  const weights: ImageWeight[] = [];
  // Manifests are read one after the other: each may have 4 MB.
  for (const entry of entries) weights.push(await readWeight(services, modelId, entry));
  const problem = overlapProblem(weights.map(({ target }) => target));
  if (problem) throw new UnfitImage(`Its weights cannot be mounted: ${problem}.`);
  return weights;
}

async function readWeight(
  { db, env }: Services,
  modelId: string,
  { digest, name, size = 0 }: WeightEntry,
): Promise<ImageWeight> {
  const found = await findManifest(db, modelId, digest);
  const object = found && (await getObject(env.IMAGES, found.key));
  const what = `Its weights '${name}'`;
  if (!object) throw new UnfitImage(`${what} are not in the registry. Push them again.`);
  const { data } = manifestShape.safeParse(parseUntrusted(await object.text()));
  const target = data?.annotations["run.cog.weight.target"];
  if (data?.config.mediaType !== MEDIA_TYPES.cogWeightConfig || target === undefined) {
    throw new UnfitImage(`${what} are in another form than Cog's. Push them again.`);
  }
  const problem = targetProblem(target);
  if (problem) throw new UnfitImage(`${what} cannot be mounted at '${target}': ${problem}.`);
  return { name, target, manifest: digest, size };
}
