/**
 * What the operator may do over HTTP, with the OPERATOR_TOKEN secret as bearer: everything that
 * setting up a deployment takes, and its fleet.
 */
import { z } from "zod";
import { slug, timestamp, uuid } from "./common.ts";

export const scope = z.enum(["read", "write", "predict"]).meta({
  id: "Scope",
  description: "`read`: own and public things. `write`: profile, models, versions. `predict`: run.",
});
export type Scope = z.infer<typeof scope>;

export const createUser = z
  .object({ username: slug, name: z.string().max(100).default("") })
  .meta({ id: "CreateUser", example: { username: "ada", name: "Ada Lovelace" } });

const tokenName = z.string().min(1).max(100);

export const createToken = z
  .object({
    name: tokenName,
    scopes: z.array(scope).min(1).max(3).default(["read", "write", "predict"]),
    expires_at: timestamp.nullish().meta({ description: "Absent or null: never" }),
  })
  .meta({ id: "CreateToken", example: { name: "laptop", scopes: ["read", "predict"] } });

const hardwareList = z
  .array(z.string().min(1).max(63))
  .min(1)
  .max(50)
  .meta({ description: "The hardware that its runners may serve" });

export const createRunnerToken = z
  .object({ name: tokenName, hardware: hardwareList })
  .meta({ id: "CreateRunnerToken", example: { name: "rack 1", hardware: ["cpu"] } });

export const newToken = z
  .object({ id: uuid, token: z.string() })
  .meta({ id: "NewToken", description: "The only answer that ever shows the token" });

const tokenRow = {
  id: uuid,
  name: z.string(),
  prefix: z.string().meta({ description: "How it begins, to tell one from another" }),
  created_at: timestamp,
};

export const token = z
  .object({ ...tokenRow, scopes: z.array(scope), expires_at: timestamp.nullable() })
  .meta({ id: "Token" });
export type Token = z.infer<typeof token>;

export const runnerToken = z
  .object({ ...tokenRow, hardware: hardwareList })
  .meta({ id: "RunnerToken" });
export type RunnerToken = z.infer<typeof runnerToken>;

export const runnerState = z
  .object({
    id: uuid,
    name: z.string(),
    hardware: z.string(),
    version: z.string(),
    engine: z.string(),
    state: z.enum(["offline", "ready", "draining", "stopped"]),
    draining: z.boolean(),
    last_seen_at: timestamp.nullable(),
    slots: z.int(),
    running: z.array(uuid).meta({ description: "The predictions that it works on" }),
  })
  .meta({ id: "Runner" });
export type RunnerState = z.infer<typeof runnerState>;
