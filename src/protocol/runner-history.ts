/** What a runner had to do over the last day, and what has become of it, as operators see it. */
import { z } from "zod";
import { timestamp } from "./common.ts";

const step = z
  .object({
    at: timestamp.meta({ description: "When these five minutes began" }),
    reports: z.int().meta({ description: "How often it reported", example: 10 }),
    running: z
      .int()
      .meta({ description: "The most predictions that it ran at a time", example: 3 }),
    gpus: z
      .array(
        z.object({
          used: z.number().meta({ description: "Mean use, from 0 to 1", example: 0.82 }),
          memory_used_gb: z.number().meta({ description: "The most memory in use", example: 41.5 }),
        }),
      )
      .meta({ description: "In the order of its machine's GPUs" }),
  })
  .meta({ id: "RunnerHistoryStep", description: "What a runner reported in five minutes" });

export const runnerHistory = z
  .object({
    step_seconds: z.int().meta({ description: "How long a step is", example: 300 }),
    steps: z.array(step).meta({
      description:
        "The oldest first, 288 at most. Those in which it reported nothing are left out, and the last one goes on",
    }),
  })
  .meta({ id: "RunnerHistory", description: "What a runner had to do over the last 24 hours" });
export type RunnerHistory = z.infer<typeof runnerHistory>;

/** Those that are kept. */
export const RUNNER_EVENT_KINDS = [
  "started",
  "stopping",
  "stopped",
  "drained",
  "resumed",
  "lost",
  "silent",
  "set_aside",
  "forgiven",
  "token_revoked",
  "gpu_lost",
  "gpu_back",
  "container_started",
  "container_stopped",
] as const;

export const runnerEvent = z
  .object({
    at: timestamp,
    kind: z.enum([...RUNNER_EVENT_KINDS, "fell_silent"]).meta({
      description:
        "`stopping`: its process was told to stop, and finishes its predictions. `drained`, `resumed`: by an operator. `forgiven`: an operator has resumed it while it was set aside. `lost`: its process ended without a word, and another one has started. `silent`: it is heard from again. `fell_silent`: nothing was heard from it after this; it is there only as long as that is so",
    }),
    detail: z.string().nullable().meta({
      description:
        "Of `started` the version, of GPUs the number and name, of containers the model's version or the image, with how many they are if there are several; null for the others",
      example: "ada/story:3",
    }),
    time: timestamp.nullable().meta({
      description:
        "Of `lost` and `silent`: when it was last heard from. Of `set_aside`: until when, at most. Null for the others",
      example: null,
    }),
    by: z.string().nullable().meta({
      description:
        "Username of the operator who did it on the dashboard; null for what the operator's token did, for what nobody did, and if the account is deleted",
      example: "ada",
    }),
  })
  .meta({ id: "RunnerEvent", description: "Something that has become of a runner" });
export type RunnerEvent = z.infer<typeof runnerEvent>;
