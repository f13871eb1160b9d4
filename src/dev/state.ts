/** The folder where `npm start` stores state and secrets between starts. */

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { retry } from "../lib/retry.ts";
import { ROOT } from "./bundle.ts";

const secrets = z.object({
  operatorToken: z.string(),
  secretKey: z.string().default(() => randomBytes(32).toString("hex")),
  password: z.string().default(() => randomBytes(9).toString("base64url")),
  seed: z.object({ username: z.string(), token: z.string(), runnerToken: z.string() }).optional(),
  /** Token of the example models' runner next to one with Docker, if there was one. */
  examplesToken: z.string().optional(),
  /** Whether the seeded user can log in to the dashboard. */
  signedUp: z.boolean().default(false),
});
export type Secrets = z.infer<typeof secrets>;

export const STATE_FOLDER = join(ROOT, ".auspex");
export const EMPTY_FOLDER = join(STATE_FOLDER, "empty");
const file = join(STATE_FOLDER, "secrets.json");

/** The secrets of the last start, or new ones. */
export async function readSecrets(): Promise<Secrets> {
  await mkdir(STATE_FOLDER, { recursive: true });
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text !== undefined) return secrets.parse(JSON.parse(text));
  return secrets.parse({ operatorToken: randomBytes(32).toString("hex") });
}

export const writeSecrets = (value: Secrets) =>
  writeFile(file, JSON.stringify(value, null, 2), { mode: 0o600 });

export class StateTaken extends Error {}

/** The database of the lock is never closed: SQLite's lock ends with the process, however that ends. */
const claims: DatabaseSync[] = [];

/** Two deployments that share a state folder would corrupt it. @throws StateTaken */
export function claimState(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, "claim.sqlite"));
  try {
    database.exec("BEGIN EXCLUSIVE");
    claims.push(database);
  } catch {
    database.close();
    const name = relative(ROOT, folder);
    throw new StateTaken(
      `Auspex runs already, with the state in ${name}/. Stop it first, or start the second from another clone.`,
    );
  }
}

const lastWorkerd = z.object({ pid: z.int().positive(), identity: z.string() });

const spawned = z.object({
  process: z.object({ spawnfile: z.string().optional(), pid: z.int().optional() }),
});

const fileIn = (folder: string) => join(folder, "workerd.json");

/** Notes each workerd that this process starts from now on: Miniflare starts another when one crashes. */
export function noteWorkerd(folder: string): void {
  subscribe("child_process", (message) => {
    // The process has its name and pid a moment later.
    setImmediate(() => {
      const { spawnfile, pid } = spawned.parse(message).process;
      if (pid === undefined || !spawnfile?.endsWith("workerd")) return;
      writeFileSync(fileIn(folder), JSON.stringify({ pid, identity: identityOf(pid) }));
    });
  });
}

/**
 * The workerd that serves a state folder. A workerd whose Node process is killed runs on for half a minute: a
 * second one on the same state would run at the same time, and predictions would be lost between the two.
 * Ends the workerd of an earlier start that was killed.
 */
export async function endLastWorkerd(folder: string): Promise<void> {
  if (!existsSync(fileIn(folder))) return;
  const { pid, identity } = lastWorkerd.parse(JSON.parse(readFileSync(fileIn(folder), "utf8")));
  await retry(
    async () => {
      // Another process may have the same pid by now.
      if (identityOf(pid) !== identity) return;
      process.kill(pid, "SIGKILL");
      throw new Error(`workerd (process ${pid}) of an earlier start does not end`);
    },
    {
      attempts: 50,
      baseMs: 20,
      maxMs: 200,
      signal: new AbortController().signal,
      isRetryable: () => true,
    },
  );
}

/** Returns the program and the start time of a process, which no other process has. Empty: there is none. */
function identityOf(pid: number): string {
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return state === "Z" ? "" : `workerd ${rest[18]}`;
    }
    return execFileSync("ps", ["-p", String(pid), "-o", "lstart=,comm="], { encoding: "utf8" });
  } catch {
    return "";
  }
}
