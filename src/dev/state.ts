/** The folder where `npm start` stores state and secrets between starts. */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ROOT } from "./bundle.ts";

const secrets = z.object({
  operatorToken: z.string(),
  secretKey: z.string().default(() => randomBytes(32).toString("hex")),
  /** The password for the dashboard. */
  password: z.string().default(() => randomBytes(9).toString("base64url")),
  seed: z.object({ username: z.string(), token: z.string(), runnerToken: z.string() }).optional(),
  /** Whether the seeded user can sign in to the dashboard. */
  signedUp: z.boolean().default(false),
});
export type Secrets = z.infer<typeof secrets>;

export const STATE_FOLDER = join(ROOT, ".auspex");
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
