/** The options that every command takes, and the session that it works with. */
import { Command } from "@commander-js/extra-typings";
import { messageOf } from "../../runner/src/lib/error.ts";
import { type Access, readAccess } from "./access.ts";
import type { Folders } from "./folders.ts";
import { Service } from "./service/service.ts";
import { createDisplay, type Display, type ErrorStream, silentDisplay } from "./ui/display.ts";
import { createOutput, type Output, table } from "./ui/output.ts";
import { formatDuration } from "./ui/progress.ts";

/** The surroundings of a command: those of its process. */
export interface Host {
  environment: NodeJS.ProcessEnv;
  folders: Folders;
  signal: AbortSignal;
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream & { isTTY?: boolean };
  stderr: ErrorStream;
}

export interface Session extends Host {
  output: Output;
  display: Display;
  /** Called before a retry. */
  onRetry: (error: unknown, delayMs: number) => void;
}

export interface ServiceSession extends Session {
  access: Access;
  service: Service;
}

export interface SessionOptions {
  json?: boolean;
  quiet?: boolean;
}

export interface ServiceOptions extends SessionOptions {
  url?: string;
  tokenFile?: string;
}

export const newCommand = (name: string, summary: string) =>
  new Command(name)
    .description(summary)
    .option("--json", "print JSON")
    .option("-q, --quiet", "print only the result");

/** A command that talks to a deployment. */
export const newServiceCommand = (name: string, summary: string) =>
  newCommand(name, summary)
    .option("--url <address>", "deployment address (default: AUSPEX_URL, or auspex login)")
    .option(
      "--token-file <file>",
      "read the token from a file (default: AUSPEX_TOKEN, or auspex login)",
    );

export function openSession(host: Host, { json = false, quiet = false }: SessionOptions): Session {
  const display = quiet ? silentDisplay : createDisplay(host.stderr, host.environment.TERM);
  const onRetry = (error: unknown, delayMs: number) =>
    display.say(`${messageOf(error)}. Retrying in ${formatDuration(Math.ceil(delayMs / 1000))}.`);
  return { ...host, output: createOutput(json, host.stdout), display, onRetry };
}

/** @throws Misuse if the deployment or the token is unknown */
export async function openService(host: Host, options: ServiceOptions): Promise<ServiceSession> {
  const session = openSession(host, options);
  const access = await readAccess(options, host.environment, host.folders);
  return { ...session, access, service: new Service(access, session) };
}

interface List {
  head: string[];
  rows: string[][];
  /** The value that `--json` prints. */
  items: unknown[];
  /** A note below the table. */
  note?: string;
}

/** The result of a command that lists. An empty list prints a sentence in a terminal. */
export function showList({ output, display }: Session, { head, rows, items, note = "" }: List) {
  output.result(`${table(head, rows)}${note}`, items);
  if (rows.length === 0 && !output.json) display.say("None.");
}
