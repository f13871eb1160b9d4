/**
 * Cloudflare's API, called with the login of wrangler: a call takes a tenth of a second, and a start of
 * wrangler one and a half of a processor. What it knows best is left to wrangler: to upload the Worker, to
 * import into D1, and to set secrets before there is a Worker.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { z } from "zod";
import { ROOT } from "../bundle.ts";

const API = "https://api.cloudflare.com/client/v4";
const LIMIT_MS = 30_000;

/** Output of `wrangler auth token`: an API token or that of a login, or a key of the older kind. */
const login = z.union([
  z.object({ token: z.string() }).transform(({ token }) => ({ authorization: `Bearer ${token}` })),
  z
    .object({ key: z.string(), email: z.string() })
    .transform(({ key, email }) => ({ "x-auth-key": key, "x-auth-email": email })),
]);

const answer = z.object({
  result: z.unknown().optional(),
  errors: z.array(z.object({ code: z.number(), message: z.string() })).nullish(),
});

const account = z.object({ id: z.string(), name: z.string() });
type Account = z.infer<typeof account>;

/** Cloudflare's reason, as wrangler writes it. */
export class CloudflareRefused extends Error {
  readonly codes: number[];

  constructor(status: number, errors: { code: number; message: string }[]) {
    super(
      errors.map(({ code, message }) => `${message} [code: ${code}]`).join(", ") ||
        `Cloudflare returned ${status}`,
    );
    this.codes = errors.map(({ code }) => code);
  }
}

export interface Call<T> {
  /** Shape of the result. */
  shape: z.ZodType<T>;
  body?: object;
  /** Jurisdiction of a bucket. */
  jurisdiction?: string | undefined;
}

export class Cloudflare {
  readonly #wrangler: Wrangler;
  readonly #base: string;
  readonly #named: string | undefined;
  #headers: Promise<Headers> | undefined;
  #account: Promise<Account> | undefined;

  /** @param account the one that wrangler.toml names, which counts before that of the environment */
  constructor(
    wrangler: Wrangler,
    account: string | undefined,
    environment: Record<string, string | undefined>,
  ) {
    this.#wrangler = wrangler;
    this.#base = environment.CLOUDFLARE_API_BASE_URL ?? API;
    this.#named = account || environment.CLOUDFLARE_ACCOUNT_ID || undefined;
  }

  /** Returns the account that the deploy uses, with its name if the login may see it. */
  async account(): Promise<Account> {
    this.#account ??= this.#choose();
    return this.#account;
  }

  /** Runs a command of wrangler for that account; wrangler itself may remember another. */
  async wrangler(args: string[], options: WranglerOptions = {}): Promise<string> {
    const { id } = await this.account();
    const environment = { CLOUDFLARE_ACCOUNT_ID: id, ...options.environment };
    return this.#wrangler(args, { ...options, environment });
  }

  /** @param path below the account. @throws CloudflareRefused */
  async call<T>(method: "GET" | "POST" | "PATCH", path: string, call: Call<T>): Promise<T> {
    return this.#call(method, `/accounts/${(await this.account()).id}${path}`, call);
  }

  /** @param missing codes that say that there is none: not every 404 does. @returns undefined for these */
  async find<T>(path: string, missing: number[], call: Call<T>): Promise<T | undefined> {
    try {
      return await this.call("GET", path, call);
    } catch (error) {
      if (error instanceof CloudflareRefused && missing.some((code) => error.codes.includes(code)))
        return undefined;
      throw error;
    }
  }

  async #choose(): Promise<Account> {
    const accounts = await this.#call("GET", "/accounts?per_page=50", { shape: z.array(account) });
    const named = this.#named;
    if (named !== undefined)
      return accounts.find(({ id }) => id === named) ?? { id: named, name: "an account" };
    const [first, ...others] = accounts;
    if (!first) {
      throw new Error(
        "This login has no access to a Cloudflare account. If it should, set it: export CLOUDFLARE_ACCOUNT_ID=…",
      );
    }
    if (others.length === 0) return first;
    const names = accounts.map(({ name, id }) => `${name} (${id})`).join(", ");
    throw new Error(`More than one account available: ${names}`);
  }

  async #call<T>(method: string, path: string, { shape, body, jurisdiction }: Call<T>): Promise<T> {
    this.#headers ??= this.#login();
    const headers = new Headers(await this.#headers);
    if (jurisdiction) headers.set("cf-r2-jurisdiction", jurisdiction);
    if (body) headers.set("content-type", "application/json");
    const response = await fetch(this.#base + path, {
      method,
      headers,
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(LIMIT_MS),
    }).catch((error: Error) => {
      const { message } = error.cause instanceof Error ? error.cause : error;
      throw new Error(`${this.#base} is unreachable: ${message}`);
    });
    const { data } = answer.safeParse(await response.json().catch(() => undefined));
    if (!response.ok) throw new CloudflareRefused(response.status, data?.errors ?? []);
    if (!data) {
      throw new Error(
        `${this.#base} did not return a Cloudflare API response. Check for a proxy or a network login page.`,
      );
    }
    return shape.parse(data.result);
  }

  async #login(): Promise<Headers> {
    const headers = login.parse(JSON.parse(await this.#wrangler(["auth", "token", "--json"])));
    try {
      return new Headers(headers);
    } catch {
      // The message of the error of `Headers` would show the token.
      throw new Error(
        "Invalid Cloudflare API token: it contains a line break or another invalid character.",
      );
    }
  }
}

/** The message is all that wrangler wrote. */
class WranglerFailed extends Error {}

interface WranglerOptions {
  /** Sent to its standard input: secrets, which belong in no argument and no file. */
  input?: string;
  /** Lets the terminal have its output and its questions, instead of returning the output. */
  shown?: boolean;
  environment?: Record<string, string>;
}

export type Wrangler = (args: string[], options?: WranglerOptions) => Promise<string>;

/** Time limit of a command that hangs; wrangler itself repeats requests that fail. */
const COMMAND_LIMIT_MS = 15 * 60_000;

/** The program itself: wrangler's launcher would start it in another process, and only wait for it. */
const PROGRAM = createRequire(import.meta.url).resolve("wrangler");
/** Compiled code of wrangler, which is 15 MB: compiling it takes a third of each start. */
const COMPILED = join(ROOT, "node_modules/.cache/compiled");

/** @returns what it wrote to standard output. @throws WranglerFailed */
export const wrangler: Wrangler = async (args, { input, shown = false, environment } = {}) => {
  const child = spawn(process.execPath, ["--no-warnings", PROGRAM, ...args], {
    cwd: ROOT,
    env: {
      NODE_COMPILE_CACHE: COMPILED,
      ...process.env,
      WRANGLER_SEND_METRICS: "false",
      ...QUIET[`${shown}`],
      ...environment,
    },
    stdio: shown ? "inherit" : "pipe",
    signal: AbortSignal.timeout(COMMAND_LIMIT_MS),
  });
  const ended = once(child, "close");
  // wrangler may end without having read all of `input`.
  child.stdin?.on("error", () => {}).end(input);
  const [[code], stdout, stderr] = await Promise.all([ended, all(child.stdout), all(child.stderr)]);
  if (code === 0) return stdout;
  const said = stripVTControlCharacters(`${stderr}${stdout}`).trim();
  throw new WranglerFailed(said || `wrangler ${args[0]} failed (exit code ${code}).`);
};

const QUIET = { true: {}, false: { WRANGLER_HIDE_BANNER: "true" } };

const all = (stream: NodeJS.ReadableStream | null) => (stream ? text(stream) : "");

/** Returns advice on an error that has nothing to do with the step in which it came; otherwise undefined. */
export function adviceOn({ message }: Error): string | undefined {
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(message)) ?? [];
  return advice;
}

const ADVICE: [RegExp, string][] = [
  [
    /ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ECONNRESET|fetch failed|unreachable/,
    "Cloudflare could not be reached. Check your network connection and proxy settings (HTTPS_PROXY).",
  ],
  [
    /Not logged in|necessary to set a CLOUDFLARE_API_TOKEN|not authenticated|\[code: (?:10000|9109|6003)\]/,
    "You are not logged in to Cloudflare, or do not have permission. Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN to a token with the permissions of the template “Edit Cloudflare Workers”, plus D1 and Queues: Edit.",
  ],
  [
    /More than one account available/,
    "Choose one of these accounts: export CLOUDFLARE_ACCOUNT_ID=…",
  ],
  [/\[code: 10042\]/, "Enable R2 in Cloudflare's dashboard, under R2 Object Storage."],
];
