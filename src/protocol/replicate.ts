/** The wire shapes of Replicate's HTTP API, which its clients send and read (below /replicate/v1). */
import { z } from "zod";
import { clearable, jsonObject, link, modelReference, slug, timestamp } from "./common.ts";
import { cost } from "./money.ts";
import { accountKind } from "./user.ts";

export const replicateStatus = z.enum([
  "starting",
  "processing",
  "succeeded",
  "failed",
  "canceled",
  "aborted",
]);
export type ReplicateStatus = z.infer<typeof replicateStatus>;

export const replicateEvent = z.enum(["start", "output", "logs", "completed"]);
export type ReplicateEvent = z.infer<typeof replicateEvent>;

/** The ID of a version: the SHA-256 of its model's ID and its number (domain/replicate/versions.ts). */
export const versionId = z.string().regex(/^[0-9a-f]{64}$/);

/** The `version` of a new prediction. */
export const versionReference = z
  .string()
  .regex(
    /^(?:[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}(?::(?:[1-9]\d{0,8}|[0-9a-f]{64}))?|[0-9a-f]{64})$/,
    "a version's 64-character ID, `owner/name`, or `owner/name:` with an ID or a number. A number alone does not name a model",
  );

const createOptions = {
  input: jsonObject,
  webhook: link.nullish(),
  /** The webhook of clients before version 0.10, for `completed` alone. */
  webhook_completed: link.nullish(),
  webhook_events_filter: z.array(replicateEvent).max(10).nullish(),
};

/** The body of POST /models/{owner}/{name}/predictions. Other fields are ignored, as Replicate does. */
export const createReplicateRun = z.object(createOptions);
export type CreateReplicateRun = z.infer<typeof createReplicateRun>;

/** The body of POST /predictions. */
export const createReplicatePrediction = z
  .object({
    ...createOptions,
    version: versionReference.optional(),
    model: modelReference.optional(),
  })
  .refine(({ version, model }) => (version ?? model) !== undefined, {
    path: ["version"],
    error: "Field required",
  });

const replicatePredictionHead = z.object({
  id: z.string(),
  model: z.string(),
  version: versionId,
  source: z.enum(["api", "web"]),
  status: replicateStatus,
  error: z.string().nullable(),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  completed_at: timestamp.nullable(),
  /** When it is canceled if it has not ended. */
  deadline: timestamp.optional(),
  data_removed: z.boolean(),
  metrics: z.record(z.string(), z.number()),
  /** Replicate's API has no cost. */
  cost: cost.nullable(),
  urls: z.object({ get: z.url(), cancel: z.url(), web: z.url(), stream: z.url().optional() }),
  webhook: z.string().optional(),
  webhook_events_filter: z.array(replicateEvent).optional(),
});
/** A prediction without its input, output and logs. */
export type ReplicatePredictionHead = z.infer<typeof replicatePredictionHead>;

export const replicatePrediction = replicatePredictionHead.extend({
  input: z.record(z.string(), z.json()).nullable(),
  output: z.json(),
  logs: z.string().nullable(),
});
export type ReplicatePrediction = z.infer<typeof replicatePrediction>;

export const replicateVersion = z.object({
  id: versionId,
  created_at: timestamp,
  cog_version: z.string(),
  openapi_schema: jsonObject,
});
export type ReplicateVersion = z.infer<typeof replicateVersion>;

export const replicateModel = z.object({
  url: z.url(),
  owner: z.string(),
  name: z.string(),
  description: z.string(),
  visibility: z.enum(["public", "private"]),
  is_official: z.boolean(),
  github_url: z.string().nullable(),
  paper_url: z.string().nullable(),
  license_url: z.string().nullable(),
  cover_image_url: z.string().nullable(),
  run_count: z.int(),
  created_at: timestamp,
  default_example: replicatePrediction.nullable(),
  latest_version: replicateVersion.nullable(),
});
export type ReplicateModel = z.infer<typeof replicateModel>;

const modelFields = {
  description: clearable(1_000).optional(),
  github_url: link.nullish(),
  paper_url: link.nullish(),
  license_url: link.nullish(),
  cover_image_url: link.nullish(),
};

/** The body of POST /models. */
export const createReplicateModel = z.object({
  owner: z.string(),
  name: slug,
  visibility: z.enum(["public", "private"]),
  hardware: z.string().max(63).optional(),
  ...modelFields,
});
export type CreateReplicateModel = z.infer<typeof createReplicateModel>;

/** The body of PATCH /models/{owner}/{name}. */
export const updateReplicateModel = z.object({
  ...modelFields,
  readme: clearable(100_000).optional(),
});
export type UpdateReplicateModel = z.infer<typeof updateReplicateModel>;

const instances = z.int().min(0).optional();

const deploymentFields = {
  version: versionReference,
  hardware: z.string().max(63).optional(),
  min_instances: instances,
  max_instances: instances,
};

/** The body of POST /deployments. */
export const createReplicateDeployment = z.object({
  name: slug,
  model: modelReference,
  ...deploymentFields,
});

/** The body of PATCH /deployments/{owner}/{name}. */
export const updateReplicateDeployment = z.object(deploymentFields).partial();

export const replicateDeployment = z.object({
  owner: z.string(),
  name: z.string(),
  current_release: z.object({
    number: z.int(),
    model: z.string(),
    version: versionId,
    created_at: timestamp,
    created_by: z.object({ type: accountKind, username: z.string(), name: z.string() }),
    configuration: z.object({
      hardware: z.string(),
      min_instances: z.int(),
      max_instances: z.int(),
    }),
  }),
});
export type ReplicateDeployment = z.infer<typeof replicateDeployment>;

/** The field `metadata` of a form: JSON text. */
export const sentMetadata = z
  .string()
  .max(4_000)
  .transform((text, context) => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue("not JSON");
      return z.NEVER;
    }
  })
  .pipe(z.record(z.string(), z.json()));

export const replicateFile = z.object({
  id: z.uuid(),
  name: z.string(),
  content_type: z.string(),
  size: z.int(),
  etag: z.string(),
  checksums: z.object({ sha256: z.string().optional() }),
  metadata: z.record(z.string(), z.unknown()),
  created_at: timestamp,
  expires_at: timestamp,
  urls: z.object({ get: z.url() }),
});
export type ReplicateFile = z.infer<typeof replicateFile>;

export const replicateCollection = z.object({
  name: z.string(),
  slug: z.string(),
  description: z.string(),
  full_description: z.null(),
  models: z.array(replicateModel).optional(),
});

export const replicateHardware = z.array(z.object({ sku: z.string(), name: z.string() }));

export const replicateAccount = z.object({
  type: z.literal("user"),
  username: z.string(),
  name: z.string(),
  avatar_url: z.string(),
});

export const replicatePage = <Item extends z.ZodType>(item: Item) =>
  z.object({ previous: z.url().nullable(), next: z.url().nullable(), results: z.array(item) });

/** Returns a page of one of our lists in Replicate's envelope. */
export const replicatePageOf = <Item>(page: {
  items: Item[];
  next_url: string | null;
  previous_url: string | null;
}) => ({ previous: page.previous_url, next: page.next_url, results: page.items });
