/** Selects from an index the image that runners run, and the weights of Cog next to it. */
import { type Descriptor, type Index, kindOf, MEDIA_TYPES } from "../../protocol/oci.ts";
import { UnfitImage, unfitPlatform } from "./unfit-image.ts";

/** The platform that runners run. */
export const OS = "linux";
export const ARCHITECTURE = "amd64";

/** A manifest of Cog's managed weights, as the index of its bundle describes it. */
export interface WeightEntry {
  /** The digest of the weights' manifest. */
  digest: string;
  name: string;
  /** A digest that identifies the files, however they are packed. */
  setDigest: string | undefined;
  /** The uncompressed bytes. */
  size: number | undefined;
}

/**
 * Returns the entry for linux/amd64. An entry without a platform is taken if it is the only image: its
 * configuration has the platform.
 * @throws UnfitImage
 */
export function selectImage(index: Index): Descriptor {
  const images = index.manifests.filter(isImage);
  const only = images.length === 1 ? images[0] : undefined;
  const fit = images.find(isForRunners) ?? (only?.platform ? undefined : only);
  if (fit) return fit;
  if (index.manifests.length > 0 && images.length === 0)
    throw new UnfitImage("It has no container image, only what belongs to one.");
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

/**
 * Whether an entry is an image. BuildKit's attestations are manifests too, for the platform unknown/unknown.
 */
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
