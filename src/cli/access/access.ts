/** Which deployment a command talks to, and with which token. */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { messageOf } from "../../../runner/src/control-plane/error.ts";
import { Misuse } from "../failure.ts";
import type { Folders } from "../state/folders.ts";
import { loadCredentials } from "./credentials.ts";

export interface Access {
  /** Without a slash at its end. */
  url: string;
  token: string;
}

/** What a command line says about it. */
export interface AccessOptions {
  url?: string;
  tokenFile?: string;
}

/** Of this machine: nobody else is on the way. */
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
      error: "must be the address of a deployment, such as https://auspex.example.com",
    }),
  )
  .transform((url) => url.replace(/\/+$/, ""));

const token = z
  .string()
  .trim()
  .refine((text) => !text.startsWith("ausr_"), {
    error: "is a runner token (ausr_…): this needs a user token (aus_…)",
    abort: true,
  })
  .regex(/^aus_\w+$/, 'must be a user token (it begins with "aus_")');

/** @param source where it was given, for the error */
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
  if (!url) throw new Misuse("No deployment is known. Run auspex login, or set AUSPEX_URL.");
  if (tokenFile) return { url, token: readToken(await textOf(tokenFile), "--token-file") };
  if (environment.AUSPEX_TOKEN)
    return { url, token: readToken(environment.AUSPEX_TOKEN, "AUSPEX_TOKEN") };
  if (kept?.url === url) return { url, token: kept.token };
  throw new Misuse(`No token for ${url}. Run auspex login ${url}, or set AUSPEX_TOKEN.`);
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Misuse(`--token-file: ${messageOf(error)}`);
  }
}
