/** The image of a version, as its page shows it. */

import { accessToPull } from "../../domain/accounts/access.ts";
import { LostImage, UnfitImage } from "../../domain/images/select-image.ts";
import { type ShownLabel, shownLabels } from "../../domain/images/shown-labels.ts";
import { modelOfRepository } from "../../protocol/registry.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { findManifest } from "../../storage/registry/manifests.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { openImage } from "./read-image.ts";

/** The size up to which a manifest is read for a page: ordinary manifests have a few KB. */
const MAX_MANIFEST_BYTES = 256 * 1024;

/** The layers that are shown at most. Docker itself takes 127. */
const MAX_LAYERS = 200;

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
  const place = { id: model.id, owner_id: model.owner.id, visibility: model.visibility };
  if (accessToPull(caller, undefined, place) !== "granted") {
    const isThere = await findManifest(services.db, modelId, digest);
    return { kind: isThere ? "closed" : "gone" };
  }
  try {
    const open = await openImage(services, modelId, digest, MAX_MANIFEST_BYTES);
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
