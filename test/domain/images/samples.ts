/** Images as Cog (v0.3.0 to v0.22.0) and Docker make them, from their sources and tests. */
import type { Json } from "../../../src/protocol/common.ts";
import {
  type ImageConfig,
  type Index,
  imageConfig,
  index,
  type Manifest,
  MEDIA_TYPES,
  manifest,
} from "../../../src/protocol/oci.ts";

export const sha = (digit: string) => `sha256:${digit.repeat(64)}`;

export const manifestOf = (
  sizes = [1_000, 2_000],
  type: string = MEDIA_TYPES.ociConfig,
): Manifest =>
  manifest.parse({
    schemaVersion: 2,
    config: { mediaType: type, digest: sha("c"), size: 500 },
    layers: sizes.map((size) => ({
      mediaType: "application/vnd.oci.image.layer.v1.tar+gzip",
      digest: sha("1"),
      size,
    })),
  });

export const configOf = (config: object = {}, architecture = "amd64"): ImageConfig =>
  imageConfig.parse({ architecture, os: "linux", config });

interface Entry {
  os?: string;
  architecture?: string;
  variant?: string;
  artifactType?: string;
  annotations?: Record<string, string>;
  mediaType?: string;
}

/** Returns an index with an entry per digest. */
export const indexOf = (entries: Record<string, Entry>): Index =>
  index.parse({
    schemaVersion: 2,
    manifests: Object.entries(entries).map(([digit, entry]) => {
      const { os, architecture, variant, ...rest } = entry;
      return {
        mediaType: MEDIA_TYPES.ociManifest,
        digest: sha(digit),
        size: 700,
        ...(os && { platform: { os, architecture, variant } }),
        ...rest,
      };
    }),
  });

/** Schemas that FastAPI and Cog add to every document. */
const NOISE = {
  HTTPValidationError: {
    title: "HTTPValidationError",
    type: "object",
    properties: {
      detail: { type: "array", items: { $ref: "#/components/schemas/ValidationError" } },
    },
  },
  PredictionRequest: {
    title: "PredictionRequest",
    type: "object",
    properties: { input: { $ref: "#/components/schemas/Input" } },
  },
  Status: { title: "Status", enum: ["starting", "succeeded"], type: "string" },
  TrainingInput: { title: "TrainingInput", type: "object", properties: {} },
  ValidationError: { title: "ValidationError", type: "object" },
};

export const openapiOf = (schemas: { [name: string]: Json }, version = "3.0.2") =>
  JSON.stringify({
    openapi: version,
    info: { title: "Cog", version: "0.1.0" },
    paths: { "/": {}, "/health-check": {}, "/predictions": { post: {} } },
    components: { schemas: { ...NOISE, ...schemas } },
  });

/** Cog 0.3: an optional input is only missing from `required`, and enums are separate schemas. */
export const COG_0_3 = openapiOf({
  Input: {
    title: "Input",
    required: ["image"],
    type: "object",
    properties: {
      image: {
        title: "Image",
        description: "A picture",
        type: "string",
        format: "uri",
        "x-order": 0,
      },
      scale: { title: "Scale", type: "number", default: 1.5, exclusiveMinimum: 0, "x-order": 1 },
      style: {
        allOf: [{ $ref: "#/components/schemas/style" }],
        description: "A style",
        default: "oil",
        "x-order": 2,
      },
    },
  },
  Output: { title: "Output", type: "string", format: "uri" },
  style: { title: "style", enum: ["oil", "ink"], description: "An enumeration.", type: "string" },
});

/** Cog 0.9: iterators are marked, and an output of several fields is a separate schema. */
export const COG_0_9 = openapiOf({
  Input: {
    title: "Input",
    required: ["prompt"],
    type: "object",
    properties: {
      prompt: { title: "Prompt", type: "string", "x-order": 0 },
      temperature: { title: "Temperature", type: "number", minimum: 0, maximum: 2, "x-order": 1 },
    },
  },
  Output: {
    title: "Output",
    type: "array",
    items: { type: "string" },
    "x-cog-array-type": "iterator",
    "x-cog-array-display": "concatenate",
  },
});

/** Cog 0.16: the unions with null of pydantic 2 are written as `nullable`. */
export const COG_0_16 = openapiOf({
  Input: {
    title: "Input",
    type: "object",
    properties: {
      optional_str: { title: "Optional Str", type: "string", nullable: true, "x-order": 0 },
      choices: { allOf: [{ $ref: "#/components/schemas/choices" }], nullable: true, "x-order": 1 },
    },
  },
  Output: {
    title: "Output",
    anyOf: [{ $ref: "#/components/schemas/ModelOutput" }, { type: "string" }],
    nullable: true,
  },
  ModelOutput: {
    title: "ModelOutput",
    type: "object",
    properties: { foo_string: { title: "Foo String", type: "string", nullable: true } },
  },
  choices: {
    title: "choices",
    enum: ["foo", "bar"],
    description: "An enumeration.",
    type: "string",
  },
});

/** Cog 0.22: unions are nullable in each branch, and secrets are marked. */
export const COG_0_22 = openapiOf({
  Input: {
    title: "Input",
    required: ["messages"],
    type: "object",
    properties: {
      messages: { title: "Messages", type: "array", items: { type: "object" }, "x-order": 0 },
      stop: {
        title: "Stop",
        anyOf: [
          { type: "string", nullable: true },
          { type: "array", items: { type: "string" }, nullable: true },
        ],
        nullable: true,
        default: null,
        "x-order": 1,
      },
      api_key: {
        title: "Api Key",
        type: "string",
        format: "password",
        writeOnly: true,
        "x-cog-secret": true,
        nullable: true,
        default: null,
        "x-order": 2,
      },
    },
  },
  Output: {
    title: "Output",
    type: "array",
    items: { type: "string" },
    "x-cog-array-type": "iterator",
    "x-cog-array-display": "concatenate",
  },
});

/** Returns labels below both names, as Cog 0.3 to 0.9.8 writes them, or below the first alone. */
export const cogLabelsOf = (
  version: string,
  openapi: string | undefined,
  config: object = { build: { gpu: false } },
  namespaces = ["run.cog."],
): Record<string, string> =>
  Object.fromEntries(
    namespaces.flatMap((namespace) => [
      [`${namespace}version`, version],
      [`${namespace}config`, JSON.stringify(config)],
      ...(openapi === undefined ? [] : [[`${namespace}openapi_schema`, openapi]]),
    ]),
  );
