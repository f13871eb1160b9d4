/** The facts that an image states: its manifest, its configuration and its labels. */

import { z } from "zod";
import type { Compatibilities, Schemas } from "../../protocol/model.ts";
import { type ImageConfig, type Index, type Manifest, MEDIA_TYPES } from "../../protocol/oci.ts";
import type { ContainerInterface } from "../../protocol/runner.ts";
import { cogCompatibilities, NO_COMPATIBILITIES } from "./compatibilities.ts";
import { cogSchemas, parseUntrusted, type ReadSchemas, readOpenapi } from "./openapi-document.ts";
import {
  ARCHITECTURE,
  compressedSize,
  OS,
  platformName,
  UnfitImage,
  unfitPlatform,
  type WeightEntry,
  weightsOf,
} from "./select-image.ts";

interface ServerFacts {
  labels: Record<string, string>;
  /** The interface; undefined: the image does not state it. */
  interface: ContainerInterface | undefined;
  /** The server that the image starts, if it is a well-known one of OpenAI's API. */
  server: KnownServer | undefined;
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
  throw new UnfitImage(`It is not a container image: its configuration is ${config.mediaType}.`);
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

/** Servers of OpenAI's API, recognized by an image's command: a hint, since many wrap it in a script. */

type KnownServer = "llama.cpp" | "sglang" | "tei" | "tgi" | "vllm";

type Command = Pick<ImageConfig["config"], "Entrypoint" | "Cmd" | "Env">;

const PROGRAMS: Record<string, KnownServer> = {
  "llama-server": "llama.cpp",
  "text-embeddings-router": "tei",
  "text-generation-launcher": "tgi",
};

/** Modules of Python, which `python3 -m` starts. */
const MODULES: Record<string, KnownServer> = {
  "sglang.launch_server": "sglang",
  "vllm.entrypoints.openai.api_server": "vllm",
};

const COMMANDS: Record<string, KnownServer> = { "sglang serve": "sglang", "vllm serve": "vllm" };

function knownServer({ Entrypoint, Cmd, Env }: Command): KnownServer | undefined {
  // A shell gets its command as one argument.
  const words = [...Entrypoint, ...Cmd].flatMap((argument) => argument.split(/\s+/));
  for (const [n, word] of words.entries()) {
    const program = word.split("/").at(-1) ?? "";
    const command = `${program} ${words[n + 1]}`;
    const known = own(PROGRAMS, program) ?? own(MODULES, word) ?? own(COMMANDS, command);
    if (known) return known;
  }
  if (Env.some((variable) => variable.startsWith("LLAMA_ARG_"))) return "llama.cpp";
  // Newer images of TGI have a script, whose command only writes logs as JSON.
  const isScript = Entrypoint.some((argument) => argument.endsWith("entrypoint.sh"));
  return isScript && Cmd.includes("--json-output") ? "tgi" : undefined;
}

const LLAMA_FLAGS = {
  vendora_embeddings: ["--embedding", "--embeddings", "LLAMA_ARG_EMBEDDINGS"],
  vendora_rerank: ["--rerank", "--reranking", "LLAMA_ARG_RERANKING"],
} as const;

/** Values with which llama.cpp reads a variable for a flag as off. */
const OFF = ["", "0", "false", "off", "disabled"];

/** A llama.cpp server that is set to embed or rank answers nothing else, and does not tell so itself. */
function llamaCompatibilities({ Entrypoint, Cmd, Env }: Command): Compatibilities | undefined {
  const words = [...Entrypoint, ...Cmd].flatMap((argument) => argument.split(/\s+/));
  const variables = Env.flatMap((variable) => {
    const [name = "", value = ""] = variable.split(/=(.*)/s);
    return OFF.includes(value.toLowerCase()) ? [] : [name];
  });
  const isSet = (flag: keyof typeof LLAMA_FLAGS) =>
    LLAMA_FLAGS[flag].some((name) => words.includes(name) || variables.includes(name));
  if (isSet("vendora_rerank")) return { ...NO_COMPATIBILITIES, vendora_rerank: true };
  if (isSet("vendora_embeddings")) return { ...NO_COMPATIBILITIES, vendora_embeddings: true };
  return undefined;
}

const own = (table: Record<string, KnownServer>, name: string) =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/**
 * The labels that Cog writes on the images that it builds:
 *
 * - 0.0.x: `org.cogmodel.cog_version`, `.config`, `.type_signature`, and no OpenAPI document.
 * - 0.3 to 0.9.8: `run.cog.version`, `.config`, `.openapi_schema`, and the same below `org.cogmodel.`
 * - since 0.9.9: only those below `run.cog.`
 *
 * `config` is cog.yaml as JSON. `openapi_schema` is missing from images of `cog run`.
 */

interface CogLabels {
  version: string | undefined;
  gpu: boolean;
  maxConcurrency: number | undefined;
  /** Whether the image expects managed weights, which are not in its layers. */
  expectsWeights: boolean;
  openapi: string | undefined;
}

const NAMESPACES = ["run.cog.", "org.cogmodel."];

const config = z.object({
  build: z
    .object({ gpu: z.boolean().optional().catch(undefined) })
    .nullish()
    .catch(undefined),
  concurrency: z
    .object({ max: z.int().min(1).max(1_000).optional().catch(undefined) })
    .nullish()
    .catch(undefined),
  weights: z.array(z.unknown()).nullish().catch(undefined),
});

/** Returns undefined for an image that Cog has not built. */
function cogLabels(labels: Record<string, string>): CogLabels | undefined {
  const label = (name: string) =>
    NAMESPACES.map((namespace) => labels[namespace + name]).find((value) => value !== undefined);
  const version = label("version") ?? label("cog_version");
  const text = label("config");
  if (version === undefined && text === undefined) return undefined;
  const { build, concurrency, weights } = config.safeParse(parseUntrusted(text ?? "")).data ?? {};
  return {
    version,
    gpu: build?.gpu ?? false,
    maxConcurrency: concurrency?.max,
    expectsWeights: (weights ?? []).length > 0,
    openapi: label("openapi_schema"),
  };
}
