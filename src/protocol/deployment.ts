/** Deployments: names that run one version, with settings of their own. The shape follows Replicate's. */
import { z } from "zod";
import { jsonObject, orNull, pageQuery, priority, slug, slugInPath, timestamp } from "./common.ts";
import { decimalAmount } from "./money.ts";
import { accountKind } from "./user.ts";

/** More containers of one deployment than any installation has room for. */
export const MAX_INSTANCES = 100;

const minInstances = z.int().min(0).max(MAX_INSTANCES).meta({
  description:
    "Containers that are kept running. Operators grant how many an account may claim of each hardware class",
  example: 0,
});
const maxInstances = z.int().min(0).max(MAX_INSTANCES).meta({
  description: "The most containers that run at a time. 0 turns the deployment off",
  example: 2,
});
const idleSeconds = z.number().min(0).max(86_400).nullable().meta({
  description: "How long further idle containers are kept. Null: as the version says",
  example: 300,
});
const maxConcurrency = z.int().min(1).max(1_000).nullable().meta({
  description: "Concurrent predictions per container. Null: as the version says",
  example: null,
});
const ownPriority = orNull(priority).meta({
  description: "Priority of predictions that name none. Null: `normal`",
  example: null,
});
/** A row of D1 has 2 MB at most, and each release has its probe. */
const MAX_PROBE = 20_000;

const PROBE =
  "A prediction that must succeed before a release with `min_instances` takes over. Null: its container must start";

export const fitsProbe = (input: object): boolean => JSON.stringify(input).length <= MAX_PROBE;
export const TOO_LARGE_PROBE = `The input of a probe has at most ${MAX_PROBE} characters of JSON`;

const probe = orNull(z.strictObject({ input: jsonObject })).meta({
  description: PROBE,
  example: null,
});

const askedProbe = orNull(
  z
    .strictObject({
      input: jsonObject.optional(),
      example: z
        .string()
        .max(100)
        .optional()
        .meta({ description: "ID of an example of the model, whose input is copied" }),
    })
    .refine(({ input, example }) => (input === undefined) !== (example === undefined), {
      message: "Send either 'input' or 'example'",
    })
    .refine(({ input }) => fitsProbe(input ?? {}), { message: TOO_LARGE_PROBE }),
).meta({ description: PROBE, example: null });

/** More would wait longer than anybody does. */
const MAX_FALLBACKS = 3;

export const fallback = z
  .strictObject({
    model: z
      .string()
      .regex(
        /^[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}(:[1-9]\d{0,8})?$/,
        "Use owner/name or owner/name:3",
      )
      .meta({ description: "A model or a version, also a remote one", example: "demo/far" }),
    after_seconds: z.number().min(1).max(86_400).nullable().default(null).meta({
      description:
        "How long the version before may take until its run begins. Null: as long as it has not failed",
      example: 20,
    }),
  })
  .meta({ id: "Fallback" });
export type Fallback = z.infer<typeof fallback>;

const fallbacks = z.array(fallback).max(MAX_FALLBACKS).meta({
  description:
    "What answers in turn if the version cannot: no runner in time, a failed start, a lost runner, or an error of a remote host. A run that has put out something is never moved",
});

export const releaseConfiguration = z
  .object({
    hardware: z.string().meta({ example: "gpu-24gb" }),
    min_instances: minInstances,
    max_instances: maxInstances,
    idle_seconds: idleSeconds,
    max_concurrency: maxConcurrency,
    priority: ownPriority,
    probe,
    fallbacks,
  })
  .meta({ id: "ReleaseConfiguration" });
export type ReleaseConfiguration = z.infer<typeof releaseConfiguration>;

const creator = z
  .object({ type: accountKind, username: z.string(), name: z.string() })
  .meta({ id: "ReleaseCreator", description: "For a service token: its organization" });

export const release = z
  .object({
    number: z.int().meta({ example: 1 }),
    model: z
      .string()
      .nullable()
      .meta({ description: "`owner/name`; null if the model was deleted", example: "demo/story" }),
    version: z.int().meta({ example: 3 }),
    created_at: timestamp,
    created_by: creator,
    configuration: releaseConfiguration,
    ended_at: timestamp
      .nullable()
      .meta({ description: "When a later release took over, or this one failed", example: null }),
    failure: z
      .string()
      .nullable()
      .meta({ description: "Why the release could not start", example: null }),
  })
  .meta({ id: "Release" });
export type Release = z.infer<typeof release>;

/** The days of figures, today (UTC) included. */
export const FIGURE_DAYS = 30;

const percentiles = z
  .object({
    p50: z.number().meta({ description: "Half took at most so long", example: 1.2 }),
    p95: z.number().meta({ description: "95 % took at most so long", example: 4.8 }),
  })
  .nullable();

export const releaseFigures = z
  .object({
    since: z.iso.date().meta({ description: "The first day (UTC)", example: "2026-11-01" }),
    predictions: z.int().meta({ description: "Predictions that ended", example: 128 }),
    failed: z.int().meta({ example: 3 }),
    queue_seconds: percentiles.meta({
      description: "Wait for a runner. Null: nothing was measured",
    }),
    setup_seconds: percentiles.meta({
      description: "Wait for a container to start, of those that had to wait for one",
    }),
    execution_seconds: percentiles,
    cost: decimalAmount,
    currency: z.string().meta({ example: "USD" }),
  })
  .meta({
    id: "ReleaseFigures",
    description: `Predictions of the last ${FIGURE_DAYS} days, without probes and starts of containers. Times are estimated from counts of ranges. For a member of an organization: only their own predictions`,
  });
export type ReleaseFigures = z.infer<typeof releaseFigures>;

/** A release in the list of releases. */
export const listedRelease = release
  .extend({
    figures: orNull(releaseFigures).meta({
      description: "Null for a token that is limited to some models: it does not see usage",
    }),
  })
  .meta({ id: "ListedRelease" });
export type ListedRelease = z.infer<typeof listedRelease>;

export const deploymentStatus = z
  .object({
    ready: z.int().meta({ description: "Containers that take predictions", example: 0 }),
    starting: z.int().meta({ example: 0 }),
    wanted: z.int().meta({ description: "`min_instances` of the newest release", example: 0 }),
    blocked_by: z
      .enum(["capacity", "grant", "failures", "model"])
      .nullable()
      .meta({ description: "What keeps wanted containers from starting", example: null }),
    reason: z
      .string()
      .nullable()
      .meta({ description: "The same in words, and what to do", example: null }),
  })
  .meta({ id: "DeploymentStatus" });
export type DeploymentStatus = z.infer<typeof deploymentStatus>;

export const displaced = z
  .object({
    model: z.string().nullable().meta({
      description: "`owner/name`; null for models that you do not see",
      example: "demo/story",
    }),
    containers: z.int().meta({ example: 1 }),
  })
  .meta({ id: "DisplacedContainers" });
export type Displaced = z.infer<typeof displaced>;

export const deployment = z
  .object({
    owner: z.string().meta({ example: "demo" }),
    name: z.string().meta({ example: "chat" }),
    created_at: timestamp,
    current_release: orNull(release).meta({
      description: "The release that runs; null until the first has started",
    }),
    next_release: orNull(release).meta({ description: "The release that is starting" }),
    status: deploymentStatus,
  })
  .meta({ id: "Deployment" });
export type Deployment = z.infer<typeof deployment>;

export const changedDeployment = deployment
  .extend({
    displaces: z.array(displaced).meta({
      description: "Containers of others that stop for those of this deployment, as of now",
    }),
  })
  .meta({ id: "ChangedDeployment" });
export type ChangedDeployment = z.infer<typeof changedDeployment>;

const flag = z.enum(["true", "false"]).default("false");

export const changeQuery = z.strictObject({
  dry_run: flag.meta({
    description:
      "`true` changes nothing: the request is checked, and the response is the deployment as it would be",
  }),
  allow_downtime: flag.meta({
    description:
      "`true` lets a release that has no room beside the one that runs stop it before it has started",
  }),
});

const model = z
  .string()
  .regex(/^[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}$/, "Use owner/name")
  .meta({ description: "`owner/name` of a model that you can run", example: "demo/story" });

const settings = {
  model,
  version: z
    .int()
    .min(1)
    .max(999_999_999)
    .meta({ description: "Its number. Defaults to the model's default version", example: 3 }),
  hardware: z
    .string()
    .max(63)
    .meta({ description: "Defaults to the hardware of the version", example: "gpu-24gb" }),
  ...{ min_instances: minInstances, max_instances: maxInstances, idle_seconds: idleSeconds },
  ...{ max_concurrency: maxConcurrency, priority: ownPriority, probe: askedProbe, fallbacks },
};

export const createDeployment = z
  .strictObject(settings)
  .partial()
  .extend({ name: slug, model })
  .meta({ id: "CreateDeployment", example: { name: "chat", model: "demo/story" } });
export type CreateDeployment = z.infer<typeof createDeployment>;

/** The body of PATCH: only fields that are sent change. */
export const updateDeployment = z
  .strictObject(settings)
  .partial()
  .meta({ id: "UpdateDeployment", example: { version: 4 } });
export type UpdateDeployment = z.infer<typeof updateDeployment>;

export const oneDeployment = z.object({
  deployment_owner: slugInPath.meta({ example: "demo" }),
  deployment_name: slugInPath.meta({ example: "chat" }),
});

export const deploymentsQuery = pageQuery(50);

export const capacityGrant = z
  .object({
    hardware: z.string().meta({ example: "gpu-24gb" }),
    instances: z.int().meta({
      description: "Containers of this class that the account's deployments may keep running",
      example: 2,
    }),
    claimed: z.int().meta({ description: "Those that they claim now", example: 1 }),
  })
  .meta({ id: "CapacityGrant" });
export type CapacityGrant = z.infer<typeof capacityGrant>;

export const capacityGrants = z
  .object({ items: z.array(capacityGrant) })
  .meta({ id: "CapacityGrants" });

/** The body of PUT /operator/users/{username}/capacity/{identifier}. */
export const putCapacityGrant = z
  .strictObject({ instances: z.int().min(0).max(10_000).meta({ description: "0 ends the grant" }) })
  .meta({ id: "PutCapacityGrant", example: { instances: 2 } });
