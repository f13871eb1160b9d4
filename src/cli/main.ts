#!/usr/bin/env node
/** The process of the command `auspex`: its signals and its streams. */
import { Interrupted } from "./failure.ts";
import { foldersOf } from "./folders.ts";
import { runProgram } from "./program.ts";

const stop = new AbortController();
// `once` is not used: log-update's listener, which restores the cursor, ends the process if it is the last.
for (const name of ["SIGHUP", "SIGINT", "SIGTERM"] as const)
  process.on(name, () => {
    const interrupted = new Interrupted(name);
    if (stop.signal.aborted) process.exit(interrupted.code);
    stop.abort(interrupted);
  });
const { argv, env: environment, stdin, stdout, stderr } = process;
// Each write to a closed pipe emits an error.
stdout.on("error", () => stop.abort(new Interrupted("SIGPIPE", "")));
const host = { environment, folders: foldersOf(environment), signal: stop.signal };
process.exitCode = await runProgram(argv.slice(2), { ...host, stdin, stdout, stderr });
