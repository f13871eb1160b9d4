/** What an image says of itself: its manifest, its configuration and its labels. */
import type { Compatibilities, Schemas } from "../../protocol/model.ts";
import { type ImageConfig, type Index, type Manifest, MEDIA_TYPES } from "../../protocol/oci.ts";
import type { ContainerInterface } from "../../protocol/runner.ts";
import { cogCompatibilities } from "./cog-compatibilities.ts";
import { cogLabels } from "./cog-labels.ts";
import { cogSchemas } from "./cog-schemas.ts";
import { type KnownServer, knownServer } from "./known-server.ts";
import { readOpenapi } from "./openapi-document.ts";
import { ARCHITECTURE, OS, platformName, type WeightEntry, weightsOf } from "./select-image.ts";
import { UnfitImage, unfitPlatform } from "./unfit-image.ts";

export interface ImageFacts {
  /** As in `linux/amd64`. */
  platform: string;
  /** Bytes of its configuration and of its layers, as they are stored. */
  compressedSize: number;
  layers: number;
  labels: Record<string, string>;
  /** Undefined: it does not say. */
  interface: ContainerInterface | undefined;
  /** The server that it starts, if it is a well-known one of OpenAI's API. */
  server: KnownServer | undefined;
  /** The version of Cog that has built it. */
  cog: string | undefined;
  /** Whether it says that it needs a GPU; undefined: it says nothing. */
  gpu: boolean | undefined;
  maxConcurrency: number | undefined;
  schemas: Schemas | undefined;
  compatibilities: Compatibilities | undefined;
  /** Cog's managed weights, which are pushed beside it. */
  weights: WeightEntry[];
  /** Whether it expects managed weights. If there are none, its index was not pushed. */
  expectsWeights: boolean;
}

const IMAGE_CONFIGS: string[] = [MEDIA_TYPES.ociConfig, MEDIA_TYPES.dockerConfig];

/** @throws UnfitImage before its configuration is read: that of an artifact may be anything */
export function checkIsImage({ config }: Manifest): void {
  if (IMAGE_CONFIGS.includes(config.mediaType)) return;
  throw new UnfitImage(`It is no container image: its configuration is ${config.mediaType}.`);
}

/** @throws UnfitImage for another platform than that of the runners */
export function imageFacts(manifest: Manifest, image: ImageConfig, index?: Index): ImageFacts {
  const platform = platformName(image);
  if (image.os !== OS || image.architecture !== ARCHITECTURE) throw unfitPlatform([platform]);
  const { Labels: labels } = image.config;
  const cog = cogLabels(labels);
  const server = cog ? undefined : knownServer(image.config);
  const document = cog?.openapi === undefined ? undefined : readOpenapi(cog.openapi);
  const schemas = document && cogSchemas(document);
  return {
    platform,
    compressedSize: [manifest.config, ...manifest.layers].reduce((sum, { size }) => sum + size, 0),
    layers: manifest.layers.length,
    labels,
    interface: cog ? "cog" : server && "vendora",
    server,
    cog: cog?.version,
    gpu: cog?.gpu,
    maxConcurrency: cog?.maxConcurrency,
    schemas,
    compatibilities: schemas && cogCompatibilities(schemas),
    weights: index ? weightsOf(index) : [],
    expectsWeights: cog?.expectsWeights ?? false,
  };
}
