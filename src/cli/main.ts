#!/usr/bin/env node
/** The command `auspex`: what it was called with, its signals, and how it ends. */
import { CommanderError } from "@commander-js/extra-typings";
import { EXIT, type Explanation, explain, Interrupted } from "./failure.ts";
import { foldersOf, requireNode } from "./folders.ts";
import { createProgram } from "./program.ts";
import { safeText } from "./ui/output.ts";

async function main(): Promise<number> {
  const stop = new AbortController();
  // `once` is not used: log-update's listener, which restores the cursor, ends the process if it is the last.
  for (const name of ["SIGHUP", "SIGINT", "SIGTERM"] as const)
    process.on(name, () => {
      const interrupted = new Interrupted(name);
      if (stop.signal.aborted) process.exit(interrupted.code);
      stop.abort(interrupted);
    });
  // Each write to a closed pipe emits an error.
  process.stdout.on("error", () => stop.abort(new Interrupted("SIGPIPE", "")));
  const { env: environment } = process;
  const host = { environment, folders: foldersOf(environment), signal: stop.signal };
  const isJson = isJsonWanted(process.argv);
  const program = createProgram(host, { printsMisuse: !isJson });
  try {
    requireNode(process.versions.node);
    await program.parseAsync();
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    // Commander has printed the error or the help.
    if (error instanceof CommanderError && !isJson) return EXIT.misused;
    const explanation = explain(stop.signal.aborted ? whileStopped(error, stop.signal) : error);
    // The end of a pipe such as `head` is not an error to print.
    if (explanation.message === "") return explanation.code;
    process.stderr.write(
      `${safeText(isJson ? asJson(explanation) : `auspex: ${explanation.message}`)}\n`,
    );
    return explanation.code;
  }
}

/** An interrupt hides the errors that it causes. */
const whileStopped = (error: unknown, { reason }: AbortSignal): unknown =>
  error instanceof Interrupted ? error : reason;

/** `--json` prints errors as JSON, too. */
const asJson = ({ message, status, code }: Explanation): string =>
  JSON.stringify({ error: { message, ...(status && { status }), exit_code: code } });

function isJsonWanted(argv: string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(2, end === -1 ? undefined : end).includes("--json");
}

process.exitCode = await main();
