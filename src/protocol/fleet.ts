/** Runners and queues, as operators see them. */
import { z } from "zod";
import { orNull, timestamp, uuid } from "./common.ts";
import { reasonCode } from "./explanation.ts";
import { load, machine } from "./runner.ts";
import { containerPhase } from "./runner-state.ts";

const presence = z.enum(["ready", "draining", "stopped", "offline", "unknown"]).meta({
  description:
    "`offline`: the runner missed three reports. `unknown`: its state could not be read in time",
});

export const runnerState = z
  .object({
    id: uuid,
    name: z.string(),
    hardware: z
      .array(z.string())
      .meta({ description: "Hardware classes served by the runner", example: ["l40s"] }),
    pool: z.string().meta({ description: "The pool of that hardware" }),
    version: z.string(),
    latest_version: z.string().meta({
      description:
        "Version of the runner package that this deployment serves at `/auspex-runner.tgz`",
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
      description: "Whether its token was revoked. A runner with a revoked token gets no work",
    }),
    set_aside_until: timestamp.nullable().meta({
      description:
        "The runner accepted jobs without starting them, or its machine failed to start containers three times in a row. It gets no work until this time. Null otherwise",
    }),
    set_aside_reason: z.string().nullable().meta({
      description:
        "Why its machine fails to start containers, if that is why it is set aside; null otherwise",
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
          "Container starts that failed since the last success. Null if there are none, or unknown",
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
        "Number of GPUs that the driver no longer lists or reports as failed. Null if unknown",
      example: 0,
    }),
    machine: orNull(machine),
    load: orNull(load).meta({ description: "Load in its last report" }),
    slots: z.int(),
    running: z.array(uuid).meta({ description: "Ids of the predictions that it is running" }),
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
    pool: z.string().meta({ description: "The pool that it stands in" }),
    waiting: z.int().nullable().meta({ description: "Predictions waiting for a runner" }),
    free: z.int().nullable().meta({
      description:
        "Free slots of connected runners. A prediction that needs a new container also needs free GPUs",
    }),
    oldest_wait_ms: z.int().nullable().meta({
      description: "How long the oldest of them has waited; null if none is waiting",
    }),
    median_wait_ms: z.int().nullable().meta({
      description:
        "Median of the last 100 predictions that had to wait for a runner; null if there are none",
    }),
    reasons: z
      .array(
        z.object({
          code: reasonCode,
          waiting: z
            .int()
            .meta({ description: "Number of predictions queued for this reason", example: 3 }),
          accounts: z.int().meta({ description: "Number of accounts they belong to", example: 2 }),
          runners: z
            .array(z.object({ id: uuid, name: z.string() }))
            .meta({ description: "Runners that are reserved or have declined", example: [] }),
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
            .meta({ description: "Null: the account is deleted", example: "ada" }),
          waiting: z.int().meta({ description: "How many of its predictions wait", example: 3 }),
          oldest_wait_ms: z
            .int()
            .meta({ description: "How long the oldest of them has waited", example: 42_000 }),
          code: reasonCode.meta({ description: "Why that one waits" }),
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
    lost: z
      .boolean()
      .meta({ description: "The driver no longer lists the GPU or reports it as failed" }),
    container: z.string().nullable().meta({
      description: "Name of the container using the GPU; null if free",
      example: "c-3",
    }),
  })
  .meta({ id: "RunnerDevice" });
export type RunnerDevice = z.infer<typeof device>;

const container = z
  .object({
    name: z.string().meta({ description: "What the runner calls it", example: "c-3" }),
    version: z.string().nullable().meta({
      description: "`owner/name:version`; null if unknown",
      example: "ada/story:3",
    }),
    image: z.string().meta({ description: "`repository@digest`" }),
    hardware: z.string().meta({ description: "The class that it was started for" }),
    phase: containerPhase,
    since: timestamp.meta({ description: "Since when it is in that phase" }),
    idle_since: timestamp
      .nullable()
      .meta({ description: "When the container became idle; null while it runs predictions" }),
    running: z.int().meta({ description: "Predictions in it" }),
    max_concurrency: z.int().meta({ description: "Maximum concurrent predictions" }),
    gpus: z.int(),
    memory_bytes: z.int().nullable().meta({
      description:
        "Bytes of RAM that it uses, which the runner measures every 30 s: with Docker as `docker stats` shows it, with the process engine the resident memory of its processes. Null if that is not known (yet)",
      example: 3_221_225_472,
    }),
    waits_for_gpus: z.int().meta({
      description: "Of these, those it waits for: what has them now is being stopped for it",
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
  .meta({ id: "RunnerWork", description: "A prediction that a runner has" });
export type RunnerWork = z.infer<typeof work>;

export const runnerDetail = runnerState
  .extend({
    reported: orNull(
      z
        .object({
          at: timestamp.meta({ description: "When the runner reported this" }),
          max_containers: z.int().meta({ description: "How many containers it may have" }),
          devices: z.array(device).meta({ description: "Its GPUs" }),
          containers: z.array(container),
        })
        .meta({ id: "ReportedByRunner" }),
    ).meta({
      description:
        "What it reported to its pool last, which may be over if it does not respond. Null if the pool does not know it (any more), or did not answer within 500 ms",
    }),
    work: z.array(work).meta({
      description:
        "The predictions that it has; of one that does not respond those that it had, without those that wait again. Neither input nor output is shown",
    }),
  })
  .meta({ id: "RunnerDetail", description: "A runner in full" });
export type RunnerDetail = z.infer<typeof runnerDetail>;
