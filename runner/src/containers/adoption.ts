/**
 * Adoption: a reload leaves idle containers running, and the next process adopts them. The process that ends
 * describes them in a file of the state folder, which only the runner's user can read, since it holds the
 * tokens of containers. Docker's labels have no part of it: every user of Docker can read labels, and every
 * image can set them.
 */

import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { parseJson } from "../../../src/lib/json.ts";
import { egress } from "../../../src/protocol/egress.ts";
import { containerInterface, job, jobHardware } from "../../../src/protocol/runner.ts";

/**
 * The number is raised with each change of the values that a container is started with. Containers of an
 * older process with another number are removed.
 */
const CONTAINER_RULES = 1;

const leftContainer = z.object({
  /** The container's name in the states that the pool gets. */
  name: z.string(),
  model: job.shape.model,
  image: job.shape.image,
  keys: job.shape.keys,
  interface: containerInterface,
  hardware: jobHardware,
  /** IDs of the container's GPUs. */
  gpus: z.array(z.string()),
  egress,
  max_concurrency: z.int().positive(),
  /** How the engine finds the container. */
  handle: z.object({ id: z.string(), address: z.url() }),
  /** The container authenticates to the runner with this token. */
  token: z.string(),
  upload_url: z.url(),
  proxy_url: z.url().optional(),
  weights_folder: z.string().optional(),
  image_bytes: z.number(),
  /** The end of the container's idle time, in Unix ms. */
  idle_until: z.number(),
  has_run: z.boolean(),
});
export type LeftContainer = z.infer<typeof leftContainer>;

const leftContainers = z.object({
  settings: z.string(),
  /** The port of the callback server, which the containers know from their environment. */
  port: z.int().min(1).max(65_535),
  containers: z.array(leftContainer),
});
export type LeftContainers = z.infer<typeof leftContainers>;

/** @returns a hash of the settings that a container depends on, which both processes compare */
export const settingsHash = (settings: object): string =>
  createHash("sha256")
    .update(
      JSON.stringify([CONTAINER_RULES, settings], (_, value) =>
        value instanceof Map ? [...value] : value,
      ),
    )
    .digest("hex");

const fileIn = (folder: string) => join(folder, "left-containers.json");

export async function writeLeft(folder: string, left: LeftContainers): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await rm(fileIn(folder), { force: true });
  await writeFile(fileIn(folder), JSON.stringify(left), { mode: 0o600, flag: "wx" });
}

/**
 * Reads the file and removes it, so that a crash of this process leaves nothing to adopt.
 * @returns undefined if the last process was not reloaded, or had other settings
 */
export async function takeLeft(
  folder: string,
  settings: string,
): Promise<LeftContainers | undefined> {
  const text = await readFile(fileIn(folder), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  await rm(fileIn(folder));
  const left = leftContainers.safeParse(parseJson(text)).data;
  return left?.settings === settings ? left : undefined;
}
