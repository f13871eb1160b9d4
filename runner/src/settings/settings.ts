/** Every setting of the runner: its schema and its help text. */
import { hostname } from "node:os";
import { z } from "zod";
import { MAX_CLASSES } from "../../../src/protocol/runner.ts";
import { MAX_CONTAINERS } from "../../../src/protocol/runner-state.ts";
import { LEVELS } from "../lib/log.ts";

/** Flags and variables are text; the file has JSON values. */
const count = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const gigabytes = z.coerce.number().positive();
const yesOrNo = z.union([z.boolean(), z.stringbool()]);
const list = z.union([
  z.array(z.string()),
  z.string().transform((text) => text.split(",").map((item) => item.trim())),
]);

const controlPlaneUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https URL" })
  .transform((url) => url.replace(/\/+$/, ""));

export const settingsSchema = z.strictObject({
  url: controlPlaneUrl.describe("URL of the deployment"),
  token: z
    .string()
    .trim()
    .regex(/^ausr_\w+$/, 'must be a runner token (it begins with "ausr_")')
    .describe("runner token; not a flag, because other processes can read flags"),
  token_file: z.string().optional().describe("file that contains the token"),
  hardware: list
    .pipe(z.array(z.string().min(1).max(63)).min(1).max(MAX_CLASSES))
    .transform((classes) => [...new Set(classes)])
    .describe("hardware classes of this machine, all in one pool, such as l40s,l40s-x4"),
  name: z
    .string()
    .min(1)
    .max(100)
    .default(() => hostname())
    .describe("unique name of this runner (default: the host name)"),
  slots: count(1, 1_000)
    .optional()
    .describe("concurrent predictions (default: one per GPU, at least 1)"),
  containers: count(1, MAX_CONTAINERS)
    .optional()
    .describe("concurrent containers (default: same as slots, or GPUs if more)"),
  engine: z
    .enum(["docker", "process"])
    .default("docker")
    .describe("docker or process (default: docker)"),
  models: z
    .string()
    .optional()
    .describe("model folders of the process engine, as {owner}/{name} in this directory"),
  state: z
    .string()
    .optional()
    .describe(
      "directory for weights and runner state (default: ~/.local/state/auspex-runner/<name>)",
    ),
  docker_socket: z.string().optional().describe("Docker or Podman socket"),
  gpu_devices: list
    .pipe(z.array(z.string().regex(/^(GPU|MIG)-/, "must be UUIDs from nvidia-smi -L")))
    .optional()
    .describe("UUIDs of the GPUs or MIG instances to use, from nvidia-smi -L (default: all)"),
  pretend_gpus: count(1, 100)
    .optional()
    .describe("for testing: number of GPUs to simulate; containers get none"),
  memory_gb: gigabytes
    .optional()
    .describe("memory per container (default: its GPUs' share of 90 %, or an equal share)"),
  shm_gb: gigabytes
    .optional()
    .describe("shared memory per container (default: half of its memory with GPUs, else 1)"),
  cpus: z.coerce
    .number()
    .nonnegative()
    .optional()
    .describe("cores per container, 0 for all (default: its GPUs' share, or an equal share)"),
  disk_gb: z.coerce
    .number()
    .nonnegative()
    .optional()
    .describe("disk per container, 0 for unlimited (default: an equal share of the free space)"),
  disk_free_gb: z.coerce
    .number()
    .nonnegative()
    .optional()
    .describe(
      "disk space to keep free by removing pulled images, 0 to disable (default: a tenth, at most 50)",
    ),
  pids: count(16, 1_000_000).optional().describe("processes per container (default: 4096)"),
  capabilities: list.optional().describe("Linux capabilities that containers keep"),
  user: z
    .string()
    .regex(/^[\w.-]+(:[\w.-]+)?$/, "must be user or user:group")
    .optional()
    .describe("user:group of containers, such as 65534:65534 (default: the image's)"),
  runtime: list
    .pipe(z.array(z.string().regex(/^([\w.-]+=)?[\w.-]+$/, "must be runtime or hardware=runtime")))
    .optional()
    .describe("Docker runtime: runsc, or l40s=runsc for one hardware class"),
  read_only: yesOrNo.optional().describe("read-only root file system in containers (default: no)"),
  egress: yesOrNo
    .optional()
    .describe("whether containers can reach the public internet (default: yes)"),
  firewall: z
    .enum(["required", "off"])
    .default("required")
    .describe(
      "off to let containers reach this machine and its private network (default: required)",
    ),
  dns: list.optional().describe("public DNS resolvers for containers"),
  cache: z
    .string()
    .optional()
    .describe("cache directory for input files (default: ~/.cache/auspex-runner/<name>)"),
  cache_gb: gigabytes
    .default(20)
    .describe("cache size; the files of one input can use half (default: 20)"),
  cache_hours: z.coerce
    .number()
    .positive()
    .default(72)
    .describe("how long cached files are kept after their last use (default: 72)"),
  weights_gb: gigabytes
    .default(200)
    .describe("disk for weights that are not in images (default: 200)"),
  max_file_gb: gigabytes.default(10).describe("largest input file (default: 10)"),
  fetch_allow: list
    .pipe(
      z.array(
        z.union([z.cidrv4(), z.cidrv6()], "must be a list of CIDR ranges, such as 10.1.0.0/16"),
      ),
    )
    .default([])
    .describe("private ranges that input files can come from, over http too (default: none)"),
  drain_seconds: count(0, 86_400)
    .default(600)
    .describe("time for running predictions to finish after SIGTERM (default: 600)"),
  cancel_seconds: count(1, 3_600)
    .default(30)
    .describe("time for a canceled model to stop before it is killed (default: 30)"),
  metrics_address: z
    .string()
    .transform((text, context) => {
      const [, ip, name, port] = /^(?:\[([\da-f:.]+)\]|([^[\]:/\s]+)):(\d{1,5})$/i.exec(text) ?? [];
      if (port !== undefined && Number(port) < 65_536)
        return { host: ip ?? name ?? "", port: Number(port) };
      context.addIssue("must be HOST:PORT, such as 127.0.0.1:9464 or [::1]:9464");
      return z.NEVER;
    })
    .optional()
    .describe("HOST:PORT at which the runner serves its metrics to Prometheus (default: off)"),
  log_level: z
    .enum(LEVELS)
    .default("info")
    .describe(`${LEVELS.join(", ")} (default: info)`),
  log_format: z.enum(["text", "json"]).default("text").describe("text or json (default: text)"),
});
export type ParsedSettings = z.infer<typeof settingsSchema>;

export const SETTING_NAMES = settingsSchema.keyof().options;
export type SettingName = (typeof SETTING_NAMES)[number];

export const flagOf = (name: string): string => name.replaceAll("_", "-");

/** The token's variable names the runner, since AUSPEX_TOKEN holds user tokens. */
export const variableOf = (name: string): string =>
  name === "token" ? "AUSPEX_RUNNER_TOKEN" : `AUSPEX_${name.toUpperCase()}`;
