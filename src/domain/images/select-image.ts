/** Selects from an index the image that runners run, and the weights of Cog next to it. */
import { type Descriptor, type Index, kindOf, MEDIA_TYPES } from "../../protocol/oci.ts";

export const OS = "linux";
export const ARCHITECTURE = "amd64";

/** A manifest of Cog's managed weights, as the index of its bundle describes it. */
export interface WeightEntry {
  digest: string;
  name: string;
  /** A digest that identifies the files, however they are packed. */
  setDigest: string | undefined;
  size: number | undefined;
}

/** The entry for linux/amd64, or the only image if it does not say. @throws UnfitImage */
export function selectImage(index: Index): Descriptor {
  const images = index.manifests.filter(isImage);
  const only = images.length === 1 ? images[0] : undefined;
  const fit = images.find(isForRunners) ?? (only?.platform ? undefined : only);
  if (fit) return fit;
  if (index.manifests.length > 0 && images.length === 0)
    throw new UnfitImage("It contains attachments only, not a container image.");
  throw unfitPlatform(images.flatMap(({ platform }) => (platform ? platformName(platform) : [])));
}

export const weightsOf = (index: Index): WeightEntry[] =>
  index.manifests.filter(isWeight).map(({ digest, annotations }) => ({
    digest,
    name: annotations["run.cog.weight.name"] ?? "",
    setDigest: annotations["run.cog.weight.set-digest"],
    size: sizeOf(annotations["run.cog.weight.size.uncompressed"]),
  }));

const isWeight = ({ artifactType }: Descriptor) => artifactType === MEDIA_TYPES.cogWeight;

/** Whether an entry is an image. BuildKit's attestations are manifests, too, for unknown/unknown. */
const isImage = ({ mediaType, artifactType, platform, annotations }: Descriptor) =>
  kindOf(mediaType) === "manifest" &&
  artifactType === undefined &&
  platform?.os !== "unknown" &&
  annotations["vnd.docker.reference.type"] === undefined;

const isForRunners = ({ platform }: Descriptor) =>
  platform?.os === OS && platform.architecture === ARCHITECTURE;

interface Named {
  os: string;
  architecture: string;
  variant?: string | undefined;
}

export const platformName = ({ os, architecture, variant }: Named) =>
  [os, architecture, variant].filter(Boolean).join("/");

const sizeOf = (text: string | undefined) =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;

/** The error for an image that cannot be a version. Its message says what to do. */
export class UnfitImage extends Error {
  override readonly name = "UnfitImage";
}

/** The error for an image that has lost a part of it. */
export class LostImage extends UnfitImage {}

const BUILD = "Build it with: docker build --platform linux/amd64 -t NAME .";

export const unfitPlatform = (platforms: string[]) =>
  new UnfitImage(
    platforms.length === 0
      ? `It has no image for linux/amd64, which runners require. ${BUILD}`
      : `It is built for ${platforms.join(", ")}, but runners require linux/amd64. ${BUILD}`,
  );

/** The bytes of an image as it is stored and pulled: those of its configuration and its layers. */
interface Sized {
  size: number;
}

export const compressedSize = ({ config, layers }: { config: Sized; layers: Sized[] }): number =>
  [config, ...layers].reduce((sum, { size }) => sum + size, 0);
