/** Runners and queues, as operators see them. */
import { z } from "zod";
import { orNull, timestamp, uuid } from "./common.ts";
import { reasonCode } from "./explanation.ts";
import { load, machine } from "./runner.ts";
import { containerPhase } from "./runner-state.ts";

const presence = z.enum(["ready", "draining", "stopped", "offline", "unknown"]).meta({
  description:
    "`offline`: the runner has missed three reports. `unknown`: its state could not be read in time",
});

export const runnerState = z
  .object({
    id: uuid,
    name: z.string(),
    hardware: z
      .array(z.string())
      .meta({ description: "Hardware classes served by the runner", example: ["l40s"] }),
    pool: z.string().meta({ description: "Pool of the hardware" }),
    version: z.string(),
    latest_version: z.string().meta({
      description: "Runner version served by this deployment at `/auspex-runner.tgz`",
    }),
    outdated: z
      .boolean()
      .meta({ description: "Whether its version differs from `latest_version`" }),
    engine: z.string(),
    state: presence,
    draining: z.boolean().meta({ description: "Whether an operator is draining it" }),
    draining_since: timestamp
      .nullable()
      .meta({ description: "When draining started; null if not draining" }),
    revoked: z.boolean().meta({
      description: "Whether its token was revoked. Runners with a revoked token get no work",
    }),
    set_aside_until: timestamp.nullable().meta({
      description:
        "Until when the runner is paused. A runner is paused if it accepts jobs without starting them, or if its machine fails to start containers three times in a row. Null if not paused",
    }),
    set_aside_reason: z.string().nullable().meta({
      description:
        "Why its machine fails to start containers, if that paused the runner; otherwise null",
      example: null,
    }),
    failed_starts: z
      .object({
        times: z.int().meta({ description: "Number of consecutive failed starts", example: 3 }),
        reason: z.string().meta({
          description: "Why the last one failed",
          example: "the disk of the runner's machine is full",
        }),
        at: timestamp.meta({ description: "When it failed" }),
      })
      .nullable()
      .meta({
        description:
          "Failed container starts since the last success. Null if there are none or it is unknown",
      }),
    started_at: timestamp.nullable().meta({ description: "When its process started" }),
    last_seen_at: timestamp.nullable(),
    connected: z.boolean().nullable().meta({
      description:
        "Whether the runner is connected: polling for work, or reporting that it is full. Null if unknown",
      example: true,
    }),
    lost_gpus: z.int().nullable().meta({
      description:
        "Number of GPUs that are missing from the driver's list or reported as failed. Null if unknown",
      example: 0,
    }),
    gpu_celsius: z.number().nullable().meta({
      description: "Temperature of its hottest GPU. Null if unknown",
      example: 61,
    }),
    disk: orNull(
      z
        .object({
          free_bytes: z.number().meta({ example: 412_000_000_000 }),
          total_bytes: z.number().meta({ example: 960_000_000_000 }),
        })
        .meta({ id: "RunnerDisk" }),
    ).meta({
      description:
        "The disk with the least free space of those that have Docker's images and the runner's own directories. Null if unknown",
    }),
    machine: orNull(machine),
    load: orNull(load).meta({ description: "Load in its last report" }),
    slots: z.int(),
    running: z.array(uuid).meta({ description: "IDs of its running predictions" }),
    warm: z.array(z.string()).meta({
      description: "Versions with a running container that has free capacity, at most 50",
      example: ["ada/story:3"],
    }),
  })
  .meta({ id: "Runner" });
export type RunnerState = z.infer<typeof runnerState>;

/** Numbers are null if the pool did not respond in time. */
export const queueState = z
  .object({
    hardware: z.string(),
    pool: z.string().meta({ description: "The pool of the class" }),
    waiting: z.int().nullable().meta({ description: "Number of queued predictions" }),
    free: z.int().nullable().meta({
      description:
        "Free slots of connected runners. A prediction that needs a new container also needs free GPUs",
    }),
    oldest_wait_ms: z.int().nullable().meta({
      description: "How long the oldest prediction has been queued; null if none is queued",
    }),
    median_wait_ms: z.int().nullable().meta({
      description:
        "Median wait of the last 100 predictions that were queued; null if there are none",
    }),
    reasons: z
      .array(
        z.object({
          code: reasonCode,
          waiting: z
            .int()
            .meta({ description: "Number of predictions queued for this reason", example: 3 }),
          accounts: z.int().meta({ description: "Number of accounts they belong to", example: 2 }),
          runners: z.array(z.object({ id: uuid, name: z.string() })).meta({
            description: "Runners that are reserved, or that declined the predictions",
            example: [],
          }),
          message: z.string().meta({
            description: "Explanation in plain English, with a suggested fix",
            example: "3 predictions queued. All 4 GPUs are busy. Add a runner to shorten the wait.",
          }),
        }),
      )
      .meta({
        description:
          "Why predictions are queued, most common reason first. Empty if none are queued or the reason is unknown",
      }),
    accounts: z
      .array(
        z.object({
          username: z
            .string()
            .nullable()
            .meta({ description: "Null if the account was deleted", example: "ada" }),
          waiting: z.int().meta({ description: "Number of queued predictions", example: 3 }),
          oldest_wait_ms: z
            .int()
            .meta({ description: "How long the oldest one has been queued", example: 42_000 }),
          code: reasonCode.meta({ description: "Why the oldest one is queued" }),
        }),
      )
      .meta({ description: "The 10 accounts with the most queued predictions" }),
  })
  .meta({ id: "Queue", description: "The queue of a hardware class" });
export type QueueState = z.infer<typeof queueState>;

const device = z
  .object({
    name: z.string().meta({ example: "NVIDIA L40S" }),
    memory_gb: z.number().meta({ example: 45 }),
    lost: z.boolean().meta({
      description: "Whether the GPU is missing from the driver's list or reported as failed",
    }),
    container: z.string().nullable().meta({
      description: "Name of the container using the GPU; null if free",
      example: "c-3",
    }),
  })
  .meta({ id: "RunnerDevice" });
export type RunnerDevice = z.infer<typeof device>;

const container = z
  .object({
    name: z.string().meta({ description: "The runner's name for the container", example: "c-3" }),
    version: z.string().nullable().meta({
      description: "`owner/name:version`; null if unknown",
      example: "ada/story:3",
    }),
    image: z.string().meta({ description: "`repository@digest`" }),
    hardware: z.string().meta({ description: "Hardware class it was started for" }),
    phase: containerPhase,
    since: timestamp.meta({ description: "When this phase began" }),
    idle_since: timestamp
      .nullable()
      .meta({ description: "When the container became idle; null while it runs predictions" }),
    running: z.int().meta({ description: "Running predictions" }),
    max_concurrency: z.int().meta({ description: "Maximum concurrent predictions" }),
    gpus: z.int(),
    memory_bytes: z.int().nullable().meta({
      description:
        "Memory in use, in bytes, measured every 30 s: as in `docker stats`, or the resident memory of its processes with the process engine. Null if unknown",
      example: 3_221_225_472,
    }),
    waits_for_gpus: z.int().meta({
      description: "Number of these GPUs it is waiting for while other containers stop",
      example: 0,
    }),
  })
  .meta({ id: "RunnerContainer" });
export type RunnerContainer = z.infer<typeof container>;

const work = z
  .object({
    prediction_id: uuid,
    username: z
      .string()
      .nullable()
      .meta({ description: "Owner of the prediction; null if unknown", example: "ada" }),
    version: z
      .string()
      .nullable()
      .meta({ description: "`owner/name:version`; null if unknown", example: "ada/story:3" }),
    since: timestamp
      .nullable()
      .meta({ description: "When it was assigned to the runner; null if unknown" }),
  })
  .meta({ id: "RunnerWork", description: "A prediction assigned to a runner" });
export type RunnerWork = z.infer<typeof work>;

export const runnerDetail = runnerState
  .extend({
    reported: orNull(
      z
        .object({
          at: timestamp.meta({ description: "When the runner reported this" }),
          max_containers: z.int().meta({ description: "Maximum number of containers" }),
          devices: z.array(device).meta({ description: "Its GPUs" }),
          containers: z.array(container),
        })
        .meta({ id: "ReportedByRunner" }),
    ).meta({
      description:
        "The runner's last report; out of date if the runner is offline. Null if there is none, or if it could not be read within 500 ms",
    }),
    work: z.array(work).meta({
      description:
        "Predictions assigned to the runner, without input and output. If the runner is offline, the ones it had, except those that were requeued",
    }),
  })
  .meta({ id: "RunnerDetail", description: "A runner with its GPUs, containers and predictions" });
export type RunnerDetail = z.infer<typeof runnerDetail>;
