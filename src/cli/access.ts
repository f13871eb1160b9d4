/** Address and token of the deployment that a command calls, and the credentials of `auspex login`. */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { messageOf } from "../../runner/src/lib/error.ts";
import { Misuse } from "./failure.ts";
import type { Folders } from "./folders.ts";

export interface Access {
  /** Address of the deployment, without a slash at its end. */
  url: string;
  token: string;
}

/** The options of a command line that choose the deployment and the token. */
export interface AccessOptions {
  url?: string;
  tokenFile?: string;
}

/** Loopback addresses need no TLS. */
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])(:|\/|$)/;

const address = z
  .string()
  .trim()
  .transform((text) =>
    text.includes("://") ? text : `${LOOPBACK.test(text) ? "http" : "https"}://${text}`,
  )
  .pipe(
    z.url({
      protocol: /^https?$/,
      hostname: /^[^\s.]+(\.[^\s.]+)*\.?$/,
      error: "must be a URL such as https://auspex.example.com",
    }),
  )
  .transform((url) => url.replace(/\/+$/, ""));

const token = z
  .string()
  .trim()
  .refine((text) => !text.startsWith("ausr_"), {
    error: "this is a runner token (ausr_…). Use an access token (aus_…)",
    abort: true,
  })
  .regex(/^aus_\w+$/, 'must be an access token (it starts with "aus_")');

/** @param source where the address was given, for the error */
export const readAddress = (text: string, source: string): string => read(address, text, source);
export const readToken = (text: string, source: string): string => read(token, text, source);

function read(schema: z.ZodType<string>, text: string, source: string): string {
  const { success, data, error } = schema.safeParse(text);
  if (success) return data;
  throw new Misuse(`${source}: ${error.issues.map(({ message }) => message).join(", ")}`);
}

/**
 * Options before variables before what `auspex login` keeps, whose token is for its own address only.
 * @throws Misuse
 */
export async function readAccess(
  { url: urlOption, tokenFile }: AccessOptions,
  environment: NodeJS.ProcessEnv,
  folders: Folders,
): Promise<Access> {
  const kept = await loadCredentials(folders);
  // An empty variable counts as unset.
  const given = urlOption
    ? readAddress(urlOption, "--url")
    : environment.AUSPEX_URL && readAddress(environment.AUSPEX_URL, "AUSPEX_URL");
  const url = given || kept?.url;
  if (!url)
    throw new Misuse("Not logged in. Run auspex login, or set AUSPEX_URL and AUSPEX_TOKEN.");
  if (tokenFile) return { url, token: readToken(await textOf(tokenFile), "--token-file") };
  if (environment.AUSPEX_TOKEN)
    return { url, token: readToken(environment.AUSPEX_TOKEN, "AUSPEX_TOKEN") };
  if (kept?.url === url) return { url, token: chosenToken(kept) };
  throw new Misuse(`Not logged in to ${url}. Run auspex login ${url}, or set AUSPEX_TOKEN.`);
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Misuse(`--token-file: ${messageOf(error)}`);
  }
}

const credentials = z.object({
  url: z.url(),
  token: z.string(),
  username: z.string(),
  /** The user's tokens for organizations, by their usernames. */
  organizations: z.record(z.string(), z.string()).optional(),
  /** The organization that commands act for. Absent: the user. */
  current: z.string().optional(),
});
export type Credentials = z.infer<typeof credentials>;

/** Returns the token of the account that `auspex switch` has chosen. */
export const chosenToken = ({ token, organizations, current }: Credentials): string =>
  (current !== undefined && organizations?.[current]) || token;

export const credentialsFile = ({ config }: Folders): string => join(config, "credentials.json");

/** Returns the credentials; undefined if there are none, or the file is damaged. */
export async function loadCredentials(folders: Folders): Promise<Credentials | undefined> {
  const text = await readFile(credentialsFile(folders), "utf8").catch(() => "");
  try {
    return credentials.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export async function saveCredentials(folders: Folders, one: Credentials): Promise<void> {
  const file = credentialsFile(folders);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // A new file: the mode of one that exists would stay as it is.
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, `${JSON.stringify(one, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  await rename(draft, file);
}

/** @returns whether there were credentials */
export async function removeCredentials(folders: Folders): Promise<boolean> {
  try {
    await rm(credentialsFile(folders));
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}
