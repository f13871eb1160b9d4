/** Why a prediction is not running yet, and its history. */
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
      "`queued`: entering the queue. `busy`: all runners are busy. `no_runner`: no runner for its hardware is online and accepting work. `too_small`: no runner has enough working GPUs. `account_share`: the account has reached its share of the hardware while others are waiting. `held`: a container of its model is starting or busy and will be available soonest. `reserved`: a runner is reserved for it. `declined`: every suitable runner has declined it. `handed_over`: just assigned to a runner. `pulling`, `starting`: its container is being set up. `unknown`: the queue did not respond in time",
    example: "busy",
  });
export type ReasonCode = z.infer<typeof reasonCode>;

const reason = z
  .object({
    code: reasonCode,
    message: z.string().meta({
      description: "Explanation in plain English, with a suggested fix",
      example:
        "All l40s runners are busy. 6 predictions are ahead of it, from 3 other accounts and possibly its own.",
    }),
    stopped: z.array(z.string()).meta({
      description:
        "Containers stopped to make room, as `owner/name:version`. Includes only your own models; operators see all",
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
        description: "Runners involved. Visible to operators only",
        example: [],
      }),
  })
  .meta({ id: "WaitReason", description: "Why a prediction is not running yet" });

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
        "`waited`: queued. `at` is the start of the last wait, `seconds` the total of all attempts. `pulled`: image and weights downloaded. `started`: container started. `set_up`: both, if not measured separately. `ran`: the model ran. `lost`, `returned`: the attempt's runner was lost or returned the prediction",
      example: "waited",
    }),
    attempt: z.int().meta({ description: "Attempt number, starting at 1", example: 1 }),
    at: timestamp.nullable().meta({ description: "When it began; null if unknown" }),
    seconds: z
      .number()
      .nullable()
      .meta({ description: "How long it took; null if unknown", example: 3.2 }),
  })
  .meta({ id: "PastStep", description: "A past step of a prediction" });
export type PastStep = z.infer<typeof pastStep>;

export const explanation = z
  .object({
    status: taskStatus.meta({ example: "pending" }),
    attempt: z.int().meta({
      description: "Current or last attempt, starting at 1",
      example: 1,
    }),
    reason: orNull(reason).meta({ description: "Null once the model is running or has finished" }),
    position: z.int().nullable().meta({
      description: "Position in the queue, starting at 1, if `busy`; otherwise null",
      example: 7,
    }),
    accounts_ahead: z.int().nullable().meta({
      description:
        "Number of other accounts with predictions ahead of it, if `busy`; otherwise null",
      example: 3,
    }),
    starts_in: orNull(range).meta({
      description:
        "Estimated time until the model runs, based on recent waits. Null if there were fewer than five, or if no runner can run it",
    }),
    since: timestamp.nullable().meta({
      description: "When the current wait or setup began; null without a reason",
    }),
    history: z.array(pastStep).meta({ description: "Past steps, oldest first" }),
  })
  .meta({
    id: "Explanation",
    description: "Why a prediction is not running yet, and its history",
  });
export type Explanation = z.infer<typeof explanation>;
