/** The folder where `npm start` stores state and secrets between starts. */

import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { ROOT } from "./bundle.ts";

const secrets = z.object({
  operatorToken: z.string(),
  secretKey: z.string().default(() => randomBytes(32).toString("hex")),
  /** The password for the dashboard. */
  password: z.string().default(() => randomBytes(9).toString("base64url")),
  seed: z.object({ username: z.string(), token: z.string(), runnerToken: z.string() }).optional(),
  /** Token of the example models' runner next to one with Docker, if there was one. */
  examplesToken: z.string().optional(),
  /** Whether the seeded user can sign in to the dashboard. */
  signedUp: z.boolean().default(false),
});
export type Secrets = z.infer<typeof secrets>;

export const STATE_FOLDER = join(ROOT, ".auspex");
/** Folder of `npm start -- --empty`. */
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
