/** Why a prediction does not run yet, and what has become of it so far. */
import { z } from "zod";
import { orNull, timestamp, uuid } from "./common.ts";
import { taskStatus } from "./prediction.ts";

export const reasonCode = z
  .enum([
    "queued",
    "busy",
    "no_runner",
    "too_small",
    "account_share",
    "held",
    "reserved",
    "declined",
    "handed_over",
    "pulling",
    "starting",
    "unknown",
  ])
  .meta({
    id: "WaitReasonCode",
    description:
      "`queued`: on its way into the queue. `busy`: all runners are busy, it waits for its turn. `no_runner`: no runner that takes work serves its hardware. `too_small`: no runner has enough working GPUs. `account_share`: its account has as much of the hardware as it may while others want it. `held`: a container of its model starts or is busy, and will serve it soonest. `reserved`: a runner is kept for it. `declined`: all runners that could take it have declined it as they are now. `handed_over`: a runner has just been given it. `pulling`, `starting`: its container is set up. `unknown`: its queue did not answer in time",
    example: "busy",
  });
export type ReasonCode = z.infer<typeof reasonCode>;

const reason = z
  .object({
    code: reasonCode,
    message: z.string().meta({
      description: "The same in plain English, with what would help",
      example:
        "All runners of l40s are busy. 6 predictions are before it, of 3 other accounts and perhaps its own. Another runner would help.",
    }),
    stopped: z.array(z.string()).meta({
      description:
        "What was stopped to make room for its container: models as `owner/name:version`. Only your own are named, operators see all",
      example: [],
    }),
    runners: z
      .array(
        z.object({
          id: uuid,
          name: z.string(),
          reason: z.string().nullable().meta({ description: "Why it declined the prediction" }),
        }),
      )
      .meta({
        description: "Runners that the reason is about; named to operators only",
        example: [],
      }),
  })
  .meta({ id: "WaitReason", description: "Why a prediction does not run yet" });

const range = z
  .object({
    p10_seconds: z.number().meta({ example: 12.5 }),
    p90_seconds: z.number().meta({ example: 41 }),
  })
  .meta({ id: "WaitRange", description: "From the 10th to the 90th percentile of similar waits" });

const pastStep = z
  .object({
    event: z.enum(["waited", "pulled", "started", "set_up", "ran", "lost", "returned"]).meta({
      description:
        "`waited` for a runner: the last wait began at `at`, and `seconds` are those of all attempts together. `pulled` its image and weights, and `started` its container, or `set_up` both where they were not told apart. `ran` the model. `lost`, `returned`: an attempt whose runner was lost, or handed it back",
      example: "waited",
    }),
    attempt: z.int().meta({ description: "The attempt that it belongs to, from 1", example: 1 }),
    at: timestamp.nullable().meta({ description: "When it began; null if unknown" }),
    seconds: z
      .number()
      .nullable()
      .meta({ description: "How long it took; null if unknown", example: 3.2 }),
  })
  .meta({ id: "PastStep", description: "What has become of a prediction" });
export type PastStep = z.infer<typeof pastStep>;

export const explanation = z
  .object({
    status: taskStatus.meta({ example: "pending" }),
    attempt: z.int().meta({
      description: "The attempt that it waits for, or that is under way or was the last, from 1",
      example: 1,
    }),
    reason: orNull(reason).meta({ description: "Null once the model runs, and after the end" }),
    position: z.int().nullable().meta({
      description: "Its place in the line if it is `busy`, from 1; else null",
      example: 7,
    }),
    accounts_ahead: z.int().nullable().meta({
      description: "How many other accounts have predictions before it, if it is `busy`; else null",
      example: 3,
    }),
    starts_in: orNull(range).meta({
      description:
        "How long it will still be until the model runs, learned from the last waits. Null if it is unknown: fewer than five are known, or nobody can run it",
    }),
    since: timestamp.nullable().meta({
      description: "Since when the reason's wait or setup goes on; null without a reason",
    }),
    history: z.array(pastStep).meta({ description: "What is over, in the order of time" }),
  })
  .meta({
    id: "Explanation",
    description: "Why a prediction does not run yet, and what has become of it so far",
  });
export type Explanation = z.infer<typeof explanation>;
