/** Models and their versions on the wire. */
import { z } from "zod";
import { digest, json, slug, timestamp, uuid } from "./common.ts";
import { containerInterface } from "./runner.ts";

export const visibility = z.enum(["private", "public", "restricted"]);
export type Visibility = z.infer<typeof visibility>;

const link = z.url({ protocol: /^https?$/ }).max(2_048);

export const createModel = z.object({
  name: slug,
  visibility: visibility.default("private"),
  description: z.string().max(1_000).default(""),
  overview: z.string().max(100_000).default(""),
  source_url: link.nullish(),
  license_url: link.nullish(),
  paper_url: link.nullish(),
  hardware_identifier: z.string().max(63).nullish(),
});
export type CreateModel = z.infer<typeof createModel>;

/** A JSON Schema, 2020-12. */
export const jsonSchema = z.record(z.string(), json);

export const schemas = z.object({
  prediction: z.object({
    input: jsonSchema,
    output: jsonSchema,
    stream_output: z.boolean().default(false),
  }),
});
export type Schemas = z.infer<typeof schemas>;

export const compatibilities = z.object({
  vendora_chat_completions: z.boolean().default(false),
  vendora_images_generations: z.boolean().default(false),
  vendora_embeddings: z.boolean().default(false),
  vendora_responses: z.boolean().default(false),
  vendorb_messages: z.boolean().default(false),
});
export type Compatibilities = z.infer<typeof compatibilities>;

export const configuration = z.object({
  hardware_identifier: z.string().max(63).optional(),
  variable_names: z
    .array(z.string().regex(/^[A-Z_][A-Z0-9_]{0,99}$/))
    .max(100)
    .optional(),
  /** A repository, when the image is not in the deployment's own registry. */
  image: z.string().max(300).optional(),
  interface: containerInterface.optional(),
  /** Of a run, from the container being ready. */
  timeout_seconds: z.number().positive().max(86_400).optional(),
  max_concurrency: z.number().int().min(1).max(1_000).optional(),
  idle_seconds: z.number().min(0).max(86_400).optional(),
});
export type Configuration = z.infer<typeof configuration>;

export const createVersion = z.object({
  release_notes: z.string().max(255),
  schemas,
  container_image_digest: digest,
  compatibilities: compatibilities.prefault({}),
  /** Omitted: inherited from the version before. */
  configuration: configuration.optional(),
});
export type CreateVersion = z.infer<typeof createVersion>;

export const version = z.object({
  number: z.number().int(),
  release_notes: z.string(),
  created_at: timestamp,
  container_image_digest: digest,
  schemas,
  compatibilities,
  size: z.number().int(),
  configuration,
});
export type Version = z.infer<typeof version>;

export const owner = z.object({ id: uuid, username: z.string(), avatar_url: z.string() });

/** The detailed form. */
export const model = z.object({
  id: uuid,
  name: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
  visibility,
  description: z.string(),
  overview: z.string(),
  owner,
  source_url: z.string().nullable(),
  license_url: z.string().nullable(),
  paper_url: z.string().nullable(),
  hardware: z.object({ identifier: z.string(), name: z.string() }).nullable(),
  latest_version: version.nullable(),
});
export type Model = z.infer<typeof model>;
