/** Runs the installed wrangler as a child process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { ROOT } from "../bundle.ts";

/** The message is all that wrangler wrote. */
export class WranglerFailed extends Error {}

export interface WranglerOptions {
  /** Sent to its standard input: secrets, which belong in no argument and no file. */
  input?: string;
  /** Lets the terminal have its output and its questions, instead of returning the output. */
  shown?: boolean;
  environment?: Record<string, string>;
}

export type Wrangler = (args: string[], options?: WranglerOptions) => Promise<string>;

/** Time limit of a command that hangs; wrangler itself repeats requests that fail. */
const LIMIT_MS = 15 * 60_000;

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
    signal: AbortSignal.timeout(LIMIT_MS),
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
    "You are not logged in to Cloudflare, or may not do this. Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN to a token with the permissions of the template “Edit Cloudflare Workers”, and D1 and Queues: Edit.",
  ],
  [
    /More than one account available/,
    "Choose one of these accounts: export CLOUDFLARE_ACCOUNT_ID=…",
  ],
  [
    /\[code: 10042\]/,
    "Enable R2 for your account once, in the dashboard of Cloudflare under R2 Object Storage.",
  ],
];
