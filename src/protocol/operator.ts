/**
 * What the operator may do over HTTP, with the OPERATOR_TOKEN secret as bearer: everything that
 * setting up a deployment takes, and its fleet.
 */
import { z } from "zod";
import { orNull, slug, timestamp, uuid } from "./common.ts";
import { load, machine } from "./runner.ts";

export const scope = z.enum(["read", "write", "predict"]).meta({
  id: "Scope",
  description: "`read`: own and public things. `write`: profile, models, versions. `predict`: run.",
});
export type Scope = z.infer<typeof scope>;

export const createUser = z
  .strictObject({ username: slug, name: z.string().max(100).default("") })
  .meta({ id: "CreateUser", example: { username: "ada", name: "Ada Lovelace" } });

const tokenName = z.string().min(1).max(100);

const modelName = z.string().regex(/^[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}$/, {
  error: ({ input }) => `'${String(input).slice(0, 130)}' is no <model_owner>/<model_name>`,
});

/** A field that is misspelt is refused: without it the token might be for everything, and for ever. */
export const createToken = z
  .strictObject({
    name: tokenName,
    scopes: z.array(scope).min(1).max(3).default(["read", "write", "predict"]),
    models: z.array(modelName).min(1).max(50).nullish().meta({
      description:
        "The models that it is for, as `owner/name`; they stay the same ones when they are renamed. It runs these, reads and cancels what was run of them, and reads what it has uploaded itself; of the account it has no more. Absent or null: all",
    }),
    expires_at: timestamp.nullish().meta({ description: "Absent or null: never" }),
  })
  .meta({ id: "CreateToken", example: { name: "laptop", scopes: ["read", "predict"] } });
export type CreateToken = z.infer<typeof createToken>;

const hardwareList = z
  .array(z.string().min(1).max(63))
  .min(1)
  .max(50)
  .meta({ description: "The hardware that its runners may serve" });

export const createRunnerToken = z
  .strictObject({ name: tokenName, hardware: hardwareList })
  .meta({ id: "CreateRunnerToken", example: { name: "rack 1", hardware: ["cpu"] } });

export const newToken = z
  .object({ id: uuid, token: z.string() })
  .meta({ id: "NewToken", description: "The only answer that ever shows the token" });

const tokenRow = {
  id: uuid,
  name: z.string(),
  prefix: z.string().meta({ description: "How it begins, to tell one from another" }),
  created_at: timestamp,
  last_used_at: timestamp.nullable().meta({ description: "Within some minutes; null: never" }),
};

export const token = z
  .object({
    ...tokenRow,
    scopes: z.array(scope),
    models: z.array(z.string()).nullable().meta({
      description:
        "The models that it is for, as they are called now: without those that are gone, and none when all are. Null: all",
    }),
    expires_at: timestamp.nullable(),
  })
  .meta({ id: "Token" });
export type Token = z.infer<typeof token>;

export const runnerToken = z
  .object({ ...tokenRow, hardware: hardwareList })
  .meta({ id: "RunnerToken" });
export type RunnerToken = z.infer<typeof runnerToken>;

const presence = z.enum(["ready", "draining", "stopped", "offline", "unknown"]).meta({
  description:
    "`offline`: nothing was heard of it for three reports. `unknown`: what is known of it could not be read in time",
});

export const runnerState = z
  .object({
    id: uuid,
    name: z.string(),
    hardware: z.string(),
    version: z.string(),
    latest_version: z.string().meta({
      description: "Of the runner that this deployment serves, at `/auspex-runner.tgz`",
    }),
    outdated: z.boolean().meta({ description: "Whether it is another version than that" }),
    engine: z.string(),
    state: presence,
    draining: z.boolean().meta({ description: "Whether it was told to take no more work" }),
    set_aside_until: timestamp.nullable().meta({
      description:
        "It has taken jobs and was never heard of them, and is handed nothing until then; null: it is not set aside",
    }),
    started_at: timestamp.nullable().meta({ description: "When its process began" }),
    last_seen_at: timestamp.nullable(),
    machine: orNull(machine),
    load: orNull(load).meta({ description: "Of its last report" }),
    slots: z.int(),
    running: z.array(uuid).meta({ description: "The predictions that it works on" }),
    warm: z.array(z.string()).meta({
      description: "Versions with a container up that has room, 50 at most",
      example: ["ada/story:3"],
    }),
  })
  .meta({ id: "Runner" });
export type RunnerState = z.infer<typeof runnerState>;

/** Numbers are null when the pool did not answer in time. */
export const queueState = z
  .object({
    hardware: z.string(),
    waiting: z.int().nullable().meta({ description: "Predictions that wait for a runner" }),
    free: z.int().nullable().meta({ description: "Slots of the runners that wait for work" }),
    oldest_wait_ms: z.int().nullable().meta({
      description: "How long the first of them has waited; null: none waits",
    }),
    median_wait_ms: z.int().nullable().meta({
      description: "Of the last 100 that had to wait and went to a runner; null: none has lately",
    }),
  })
  .meta({ id: "Queue", description: "What waits for a class of machines" });
export type QueueState = z.infer<typeof queueState>;
