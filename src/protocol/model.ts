/** Models and their versions. */
import { z } from "zod";
import {
  absentIfNull,
  clearable,
  digest,
  integerText,
  jsonObject,
  jsonObjects,
  link,
  orNull,
  pageQuery,
  repeated,
  repository,
  slug,
  slugInPath,
  sortDirection,
  timestamp,
  uuid,
} from "./common.ts";
import { egress } from "./egress.ts";
import { hardwareSummary } from "./hardware.ts";
import { tag } from "./oci.ts";
import { containerInterface } from "./runner.ts";
import { owner } from "./user.ts";
import { variableName } from "./variable.ts";
import { configuredWeights } from "./weights.ts";

export const visibility = z.enum(["private", "public", "restricted"]).meta({
  id: "ModelVisibility",
  description:
    "`private`: only the owner, and accounts that it is shared with, can see and run it. `public`: everyone can see, run and download it. `restricted`: everyone can see and run it, but only the owner can download it.",
});
export type Visibility = z.infer<typeof visibility>;

export const categorySummary = z
  .object({ name: z.string(), slug: z.string() })
  .meta({ id: "CategorySummary" });
export type CategorySummary = z.infer<typeof categorySummary>;

export const category = categorySummary
  .extend({ description: z.string() })
  .meta({ id: "Category" });
export type Category = z.infer<typeof category>;

/** The body of PUT /operator/categories/{slug}. */
export const putCategory = z
  .object({ name: z.string().min(1).max(100), description: z.string().max(1_000).default("") })
  .meta({ id: "PutCategory", example: { name: "Weather", description: "Forecasts" } });

export const MAX_CATEGORIES = 20;
export const categorySlugs = z.array(slug).max(MAX_CATEGORIES);

export const MAX_OVERVIEW = 100_000;

/** Strict: a misspelt field could have been `visibility`. */
const settable = z.strictObject({
  name: slug,
  visibility,
  description: clearable(1_000),
  overview: clearable(MAX_OVERVIEW).meta({ description: "Markdown" }),
  source_url: link.nullable(),
  license_url: link.nullable(),
  paper_url: link.nullable(),
  cover_image_url: link.nullable(),
  category_slugs: categorySlugs.nullable().transform((slugs) => slugs ?? []),
  hardware_identifier: z
    .string()
    .max(63)
    .nullable()
    .meta({ description: "Default hardware for the model's versions" }),
});

export const createModel = settable
  .partial()
  .required({ name: true })
  .extend({ visibility: visibility.default("private") })
  .meta({
    id: "CreateModel",
    example: { name: "story", visibility: "public", description: "Continues a story" },
  });
export type CreateModel = z.infer<typeof createModel>;

/** The body of PATCH: only fields that are sent change; null clears one. */
export const updateModel = settable
  .extend({
    default_version: z.int().min(1).max(999_999_999).nullable().meta({
      description: "The version that runs if a call does not name one; null for the latest",
    }),
  })
  .partial()
  .meta({ id: "UpdateModel", example: { visibility: "restricted", paper_url: null } });
export type UpdateModel = z.infer<typeof updateModel>;

export const modelSort = z.enum(["created_at", "predictions_count"]);
export type ModelSort = z.infer<typeof modelSort>;

export const modelsQuery = (maxPage: number) =>
  pageQuery(maxPage).extend({
    sort_by: modelSort.default("created_at").meta({
      description: "`predictions_count` lists only models with at least one prediction",
    }),
    sort_direction: sortDirection,
    category_slugs: repeated(slug, MAX_CATEGORIES).meta({
      description: "Models in any of these categories",
    }),
  });

export const jsonSchema = jsonObject;

const components = z.object({ schemas: jsonObjects }).meta({
  id: "SchemaComponents",
  description:
    "Shared schemas, which `input` and `output` reference as `#/components/schemas/{name}`. You can pass the `components` of a Cog image's `/openapi.json` unchanged.",
});

const schemasWith = <Flag extends z.ZodType<boolean>>(stream_output: Flag) =>
  z.object({
    prediction: z.object({ input: jsonSchema, output: jsonSchema, stream_output }),
    components: components.optional(),
  });

const streamOutput = z
  .boolean()
  .meta({ description: "Whether the model streams its output in parts" });

export const schemas = schemasWith(streamOutput).meta({
  id: "Schemas",
  description: "JSON Schemas (2020-12) of input and output",
});
export type Schemas = z.infer<typeof schemas>;

export const newSchemas = schemasWith(streamOutput.default(false)).meta({ id: "NewSchemas" });

const compatibilitiesWith = <Flag extends z.ZodType<boolean>>(flag: Flag) =>
  z.object({
    vendora_chat_completions: flag,
    vendora_images_generations: flag,
    vendora_embeddings: flag,
    vendora_responses: flag,
    vendorb_messages: flag,
    vendora_images_edits: flag,
    vendora_audio_transcriptions: flag,
    vendora_audio_translations: flag,
    vendora_audio_speech: flag,
    vendora_completions: flag,
    vendora_moderations: flag,
    vendora_rerank: flag,
  });

export const compatibilities = compatibilitiesWith(z.boolean()).meta({
  id: "Compatibilities",
  description:
    "The APIs that can call this version. `vendora` stands for OpenAI's API, `vendorb` for Anthropic's; see the OpenAI and Anthropic endpoints. `vendorb_messages` means that the container has its own `/v1/messages`; versions with `vendora_chat_completions` support messages too.",
});
export type Compatibilities = z.infer<typeof compatibilities>;

export const newCompatibilities = compatibilitiesWith(z.boolean().default(false))
  .strict()
  .meta({ id: "NewCompatibilities" });

export const isolation = z.enum(["model", "account", "prediction"]).meta({
  id: "Isolation",
  description:
    "Which predictions share a container. `model`: all predictions of this version. `account`: predictions of one account; each account's first prediction is a cold start. `prediction`: none; every prediction gets a new container, which is then removed.",
});
export type Isolation = z.infer<typeof isolation>;

export const remoteApi = z.enum(["openai", "anthropic", "replicate"]);
export type RemoteApi = z.infer<typeof remoteApi>;

/** Strict: a misspelt field could have been `repeatable`. */
export const remote = z
  .strictObject({
    url: link.max(500).meta({
      pattern: "^https?:",
      description:
        "Base URL of the API. The path of the call is appended: `/chat/completions` (OpenAI), `/v1/messages` (Anthropic), `/predictions` (Replicate)",
      example: "https://api.openai.com/v1",
    }),
    api: remoteApi,
    model: z.string().min(1).max(200).meta({
      description:
        "Name of the model at that host. For `replicate`: `owner/name`, or the ID of a version",
      example: "gpt-5-mini",
    }),
    key_variable: variableName.optional().meta({
      description: "Name of the model's variable that has the API key",
      example: "OPENAI_API_KEY",
    }),
    repeatable: z.boolean().optional().meta({
      description:
        "Whether a call that was cut off after it was sent is sent again if there is no output yet. The host may then charge for it twice",
    }),
  })
  .meta({ id: "RemoteModel" });
export type Remote = z.infer<typeof remote>;

/** The interface of a version as users write it. */
const versionInterface = z.preprocess(
  (name) => (name === "openai" ? "vendora" : name),
  z.enum([...containerInterface.options, "remote"]),
);

/** The isolation of versions that do not set it. */
export const DEFAULT_ISOLATION: Isolation = "model";

/** Strict: a misspelt field could have been `egress`. */
export const configuration = z
  .strictObject({
    hardware_identifier: z.string().max(63).optional(),
    variable_names: z.array(variableName).max(100).optional().meta({
      description:
        "Names of the model's variables to set in the version's containers. Variables without a value are skipped",
    }),
    image: repository.optional().meta({
      description: "Image repository, if the image is in another registry",
    }),
    interface: versionInterface.optional().meta({
      description:
        "The container's HTTP interface: `cog` (default), or `vendora` (also `openai`) for servers with OpenAI's API, such as vLLM and llama.cpp server. `remote`: the version has no container, and `remote` says which host answers its calls",
    }),
    remote: remote.optional().meta({
      description:
        "The host that runs the version, with `interface: remote`. Inputs of its predictions are sent there",
    }),
    trace_content: z.boolean().optional().meta({
      description:
        "Whether traces have the first 8,000 characters of inputs and outputs, of runs by the model's owner only",
    }),
    local_only: z.boolean().optional().meta({
      description:
        "Whether inputs of the version must not leave the machines of this installation: it is no remote version, and none may stand in for it",
    }),
    timeout_seconds: z.number().positive().max(86_400).optional().meta({
      description: "Maximum duration of a prediction once its container is ready; 1,800 by default",
    }),
    max_concurrency: z.int().min(1).max(1_000).optional().meta({
      description: "Concurrent predictions per container; 1 by default, 32 for `vendora`",
    }),
    listen_timeout_seconds: z.number().min(1).max(86_400).optional().meta({
      description:
        "How long a starting container can refuse connections on its port before the start fails. Defaults to the setup timeout",
    }),
    isolation: isolation.optional(),
    egress: egress.optional(),
    idle_seconds: z.number().min(0).max(86_400).optional().meta({
      description: "How long an idle container is kept; 300 by default",
    }),
    weights: configuredWeights.optional().meta({
      description:
        "Files mounted read-only into its containers, such as weights that are not in the image. Uploads are kept while a version uses them",
    }),
  })
  .meta({ id: "Configuration" });
export type Configuration = z.infer<typeof configuration>;

/**
 * Strict, since a version can never be changed. Needs `image` or `container_image_digest`; what can be
 * read from an image in the deployment's registry may be left out (services/models/version-image.ts).
 */
export const createVersion = z
  .strictObject({
    release_notes: z.string().max(255),
    image: z.union([tag, digest]).optional().meta({
      description:
        "A tag or a digest in the model's repository in this deployment's registry. Send this or `container_image_digest`",
      example: "latest",
    }),
    schemas: newSchemas.optional(),
    container_image_digest: digest.optional(),
    compatibilities: absentIfNull(newCompatibilities),
    /** Absent: inherited from the previous version. */
    configuration: absentIfNull(configuration),
    set_default: z.boolean().default(true).meta({
      description:
        "Whether to make this the default version. With `false`, the current default stays, unless the model has no other version",
    }),
  })
  .meta({
    id: "CreateVersion",
    example: {
      release_notes: "First version",
      container_image_digest: `sha256:${"0".repeat(64)}`,
      schemas: {
        prediction: {
          input: {
            type: "object",
            properties: { prompt: { type: "string" } },
            required: ["prompt"],
          },
          output: { type: "string" },
        },
      },
    },
  });
export type CreateVersion = z.infer<typeof createVersion>;

export const versionStatus = z.enum(["ready", "awaiting_first_start"]).meta({
  id: "VersionStatus",
  description:
    "`awaiting_first_start`: schemas or compatibilities are unknown until the first start. Run the version once to complete it. `ready`: complete and immutable.",
});
export type VersionStatus = z.infer<typeof versionStatus>;

export const versionSummary = z
  .object({
    number: z.int(),
    release_notes: z.string(),
    created_at: timestamp,
    container_image_digest: orNull(digest).meta({ description: "Null for a remote version" }),
  })
  .meta({ id: "VersionSummary" });
export type VersionSummary = z.infer<typeof versionSummary>;

export const version = versionSummary
  .extend({
    status: versionStatus,
    schemas,
    compatibilities,
    size: z.int().meta({
      description: "Size of the unpacked image in bytes; 0 until its first prediction has finished",
    }),
    configuration,
  })
  .meta({ id: "Version" });
export type Version = z.infer<typeof version>;

export const modelItem = z
  .object({
    id: uuid,
    name: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
    visibility,
    description: z.string(),
    owner,
    predictions_count: z.int(),
    categories: z.array(categorySummary),
    cover_image_url: link.nullable(),
  })
  .meta({ id: "ModelItem" });
export type ModelItem = z.infer<typeof modelItem>;

export const foundModel = modelItem
  .extend({ source_url: link.nullable(), license_url: link.nullable(), paper_url: link.nullable() })
  .meta({ id: "FoundModel" });
export type FoundModel = z.infer<typeof foundModel>;

export const model = foundModel
  .extend({
    overview: z.string(),
    hardware: orNull(hardwareSummary).meta({
      description: "The model's hardware, or that of its default version if the model sets none",
    }),
    latest_version: orNull(version),
    default_version: z.int().nullable().meta({
      description: "The version that runs if a call does not name one; null for the latest",
    }),
  })
  .meta({ id: "Model" });
export type Model = z.infer<typeof model>;

export const oneModel = z.object({
  model_owner: slugInPath.meta({ example: "demo" }),
  model_name: slugInPath.meta({ example: "story" }),
});
/** Official clients encode the name as one part of the path. */
export const encodedModel = z.object({
  model: z.string().max(200).meta({
    description: "`owner/name` or `owner/name:version`, with `/` encoded as `%2F`",
    example: "demo/chat",
  }),
});
export const oneVersion = oneModel.extend({
  version_number: integerText(1, 999_999_999).meta({ example: 1 }),
});
