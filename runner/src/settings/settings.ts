/** Every setting of the runner: what it may be, and what the help says about it. */
import { hostname } from "node:os";
import { z } from "zod";
import { LEVELS } from "../lib/log.ts";

/** Flags and variables are text, the file has JSON. */
const count = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const gigabytes = z.coerce.number().positive();
const yesOrNo = z.union([z.boolean(), z.stringbool()]);
const list = z.union([
  z.array(z.string()),
  z.string().transform((text) => text.split(",").map((item) => item.trim())),
]);

const controlPlaneUrl = z
  .url({ protocol: /^https?$/, error: "is no http or https address" })
  .transform((url) => url.replace(/\/+$/, ""));

export const settingsSchema = z.strictObject({
  url: controlPlaneUrl.describe("address of the control plane"),
  token: z
    .string()
    .trim()
    .regex(/^ausr_\w+$/, 'is no runner token (they begin with "ausr_")')
    .describe("runner token; never as a flag, where every process could read it"),
  token_file: z.string().optional().describe("file that holds the token"),
  hardware: z.string().min(1).max(63).describe("hardware class that this machine serves"),
  name: z
    .string()
    .min(1)
    .max(100)
    .default(() => hostname())
    .describe("unique name of this runner (the host name)"),
  slots: count(1, 1_000).default(1).describe("predictions at a time (1)"),
  containers: count(1, 1_000)
    .optional()
    .describe("containers up at a time: 1 for one GPU, however many predictions share it (slots)"),
  engine: z.enum(["docker", "process"]).default("docker").describe("docker or process (docker)"),
  models: z
    .string()
    .optional()
    .describe("models of the process engine, as {owner}/{name} in this folder"),
  state: z.string().optional().describe("folder for what must outlive the process engine"),
  docker_socket: z.string().optional().describe("socket of Docker or Podman"),
  gpus: z
    .enum(["image", "always", "never"])
    .default("image")
    .describe("who gets GPUs: image (those that ask), always, never (image)"),
  memory_gb: gigabytes
    .optional()
    .describe("memory of one container (an equal share of nine tenths)"),
  shm_gb: gigabytes.optional().describe("shared memory of one container (1)"),
  cpus: z.coerce
    .number()
    .nonnegative()
    .optional()
    .describe("cores of one container, 0 for all (an equal share)"),
  disk_gb: z.coerce
    .number()
    .nonnegative()
    .optional()
    .describe("what one container may write, 0 for no bound (an equal share of what is free)"),
  pids: count(16, 1_000_000).optional().describe("processes in one container (4096)"),
  capabilities: list.optional().describe("capabilities that containers keep"),
  user: z
    .string()
    .regex(/^[\w.-]+(:[\w.-]+)?$/, "is no user or user:group")
    .optional()
    .describe("user:group that containers run as, as in 65534:65534 (the image's own)"),
  runtime: list
    .pipe(z.array(z.string().regex(/^([\w.-]+=)?[\w.-]+$/, "is no runtime or hardware=runtime")))
    .optional()
    .describe("Docker's runtime for containers: runsc, or l40s=runsc for one hardware class"),
  read_only: yesOrNo.optional().describe("root file system of containers is read-only (no)"),
  egress: yesOrNo.optional().describe("containers reach the public internet (yes)"),
  firewall: z
    .enum(["required", "off"])
    .default("required")
    .describe("off: containers may reach this machine and its private network (required)"),
  dns: list.optional().describe("public resolvers for containers"),
  cache: z
    .string()
    .optional()
    .describe("folder of its own for files of inputs (~/.cache/auspex-runner/<name>)"),
  cache_gb: gigabytes
    .default(20)
    .describe("what the files in it may take, those of one input half of it (20)"),
  cache_hours: z.coerce
    .number()
    .positive()
    .default(72)
    .describe("how long they stay after their last use, since they are users' own (72)"),
  max_file_gb: gigabytes.default(10).describe("largest file of an input (10)"),
  fetch_allow: list
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()], "is no list of ranges, as in 10.1.0.0/16")))
    .default([])
    .describe("private ranges that inputs may name files in, over http as well (none)"),
  drain_seconds: count(0, 86_400)
    .default(600)
    .describe("how long running work may take on after SIGTERM (600)"),
  cancel_seconds: count(1, 3_600)
    .default(30)
    .describe("how long a cancelled model may take to stop before it is killed (30)"),
  log_level: z
    .enum(LEVELS)
    .default("info")
    .describe(`${LEVELS.join(", ")} (info)`),
  log_format: z.enum(["text", "json"]).default("text").describe("text or json (text)"),
});
export type ParsedSettings = z.infer<typeof settingsSchema>;

export const SETTING_NAMES = settingsSchema.keyof().options;
export type SettingName = (typeof SETTING_NAMES)[number];

export const flagOf = (name: string): string => name.replaceAll("_", "-");

/** The token's variable says whose it is: user tokens are about as well. */
export const variableOf = (name: string): string =>
  name === "token" ? "AUSPEX_RUNNER_TOKEN" : `AUSPEX_${name.toUpperCase()}`;
