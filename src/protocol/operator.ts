/**
 * What the operator may do over HTTP, with the OPERATOR_TOKEN secret as bearer: everything a
 * deployment needs before its first prediction.
 */
import { z } from "zod";
import { slug, timestamp, uuid } from "./common.ts";

export const scope = z.enum(["read", "write", "predict"]);
export type Scope = z.infer<typeof scope>;

export const createUser = z.object({ username: slug, name: z.string().max(100).default("") });
export const user = z.object({ id: uuid, username: z.string(), created_at: timestamp });

export const createToken = z.object({
  name: z.string().min(1).max(100),
  scopes: z.array(scope).min(1).default(["read", "write", "predict"]),
  expires_at: timestamp.nullish(),
});

export const createRunnerToken = z.object({
  name: z.string().min(1).max(100),
  /** The hardware whose pools its runners may serve. */
  hardware: z.array(z.string().min(1).max(63)).min(1).max(50),
});

/** A new token. This answer is the only place where it is ever shown. */
export const newToken = z.object({ id: uuid, token: z.string() });

export const createHardware = z.object({
  identifier: slug,
  name: z.string().min(1).max(100),
  gpus: z.number().int().min(0).default(0),
  cpus: z.number().int().min(1).default(1),
  ram_gb: z.number().min(0).default(0),
  ram_per_gpu_gb: z.number().min(0).default(0),
});

export const runnerState = z.object({
  id: uuid,
  name: z.string(),
  hardware: z.string(),
  version: z.string(),
  engine: z.string(),
  state: z.enum(["offline", "ready", "draining", "stopped"]),
  draining: z.boolean(),
  last_seen_at: timestamp.nullable(),
  slots: z.number().int(),
  running: z.array(uuid),
});
export type RunnerState = z.infer<typeof runnerState>;
