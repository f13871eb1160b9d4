/** The facts that an image states: its manifest, its configuration and its labels. */
import type { Compatibilities, Schemas } from "../../protocol/model.ts";
import { type ImageConfig, type Index, type Manifest, MEDIA_TYPES } from "../../protocol/oci.ts";
import type { ContainerInterface } from "../../protocol/runner.ts";
import { cogCompatibilities } from "./cog-compatibilities.ts";
import { cogLabels } from "./cog-labels.ts";
import { cogSchemas, type ReadSchemas } from "./cog-schemas.ts";
import { compressedSize } from "./compressed-size.ts";
import { type KnownServer, knownServer, llamaCompatibilities } from "./known-server.ts";
import { readOpenapi } from "./openapi-document.ts";
import { ARCHITECTURE, OS, platformName, type WeightEntry, weightsOf } from "./select-image.ts";
import { UnfitImage, unfitPlatform } from "./unfit-image.ts";

/** The facts about the server that the image's configuration states. */
export interface ServerFacts {
  labels: Record<string, string>;
  /** The interface; undefined: the image does not state it. */
  interface: ContainerInterface | undefined;
  /** The server that the image starts, if it is a well-known one of OpenAI's API. */
  server: KnownServer | undefined;
  /** The version of Cog that has built the image. */
  cog: string | undefined;
  /** Whether the image states that it needs a GPU; undefined: it states nothing. */
  gpu: boolean | undefined;
  maxConcurrency: number | undefined;
  schemas: Schemas | undefined;
  /** Why the image's schemas cannot be used, if they are too large to be read. */
  schemasFault: string | undefined;
  compatibilities: Compatibilities | undefined;
  /** Whether the image expects Cog's managed weights. If there are none, its index was not pushed. */
  expectsWeights: boolean;
}

export interface ImageFacts extends ServerFacts {
  /** The platform, such as `linux/amd64`. */
  platform: string;
  compressedSize: number;
  layers: number;
  /** Cog's managed weights, which are pushed next to the image. */
  weights: WeightEntry[];
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
  return {
    ...serverFacts(image.config),
    platform,
    compressedSize: compressedSize(manifest),
    layers: manifest.layers.length,
    weights: index ? weightsOf(index) : [],
  };
}

export function serverFacts(config: ImageConfig["config"]): ServerFacts {
  const { Labels: labels } = config;
  const cog = cogLabels(labels);
  const server = cog ? undefined : knownServer(config);
  const document = cog?.openapi === undefined ? undefined : readOpenapi(cog.openapi);
  const { schemas, fault: schemasFault }: ReadSchemas = document ? cogSchemas(document) : {};
  return {
    labels,
    interface: cog ? "cog" : server && "vendora",
    server,
    cog: cog?.version,
    gpu: cog?.gpu,
    maxConcurrency: cog?.maxConcurrency,
    schemas,
    schemasFault,
    compatibilities: schemas
      ? cogCompatibilities(schemas)
      : server === "llama.cpp"
        ? llamaCompatibilities(config)
        : undefined,
    expectsWeights: cog?.expectsWeights ?? false,
  };
}
