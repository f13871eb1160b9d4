/**
 * Failures of runs, with the side that is at fault. The message becomes the finish's error, which callers
 * read, so it is worded for them. Details of this machine (paths, sockets, addresses, system errors) are the
 * cause, which goes to the runner's log.
 */
import type { Finish, RunError } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Log } from "./log.ts";
import { OfRun } from "./log-ring.ts";

/** The limit of `runError.message`. */
const MAX_MESSAGE_CHARS = 10_000;

export interface FailureOptions extends ErrorOptions {
  /** Machine-readable details. */
  detail?: Json;
  /** The container's setup logs, shown to the model's owner only. */
  setupLogs?: string;
  /** Whether this machine would fail any start like this one, and another machine might not. */
  ofMachine?: boolean;
  /** Whether the message is the model's own, which callers read unchanged. */
  isQuoted?: boolean;
}

export class Failure extends Error {
  readonly source: RunError["source"];
  readonly detail: Json | undefined;
  readonly setupLogs: string | undefined;
  readonly ofMachine: boolean;
  readonly isQuoted: boolean;

  constructor(source: RunError["source"], message: string, options?: FailureOptions) {
    super(message, options);
    this.source = source;
    this.detail = options?.detail;
    this.setupLogs = options?.setupLogs;
    this.ofMachine = options?.ofMachine === true;
    this.isQuoted = options?.isQuoted === true;
  }
}

/** A failure of the model or its container. */
export const external = (message: string, options?: FailureOptions): Failure =>
  new Failure("external", message, options);

/** A failure of the runner or its machine. */
export const internal = (message: string, options?: FailureOptions): Failure =>
  new Failure("internal", message, options);

/**
 * A failure of this machine, whichever version is started: its disk is full, or Docker refuses. A start with
 * such a failure goes to another runner, so a failure that a version can cause by itself must not be one.
 */
export const ofMachine = (message: string, options?: FailureOptions): Failure =>
  new Failure("internal", message, { ...options, ofMachine: true });

/** System errors of a machine that has run out of something, or whose disk fails. */
const MACHINE_CODES = ["EDQUOT", "EIO", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "EROFS"];

/** Returns the code of a system error of this machine; undefined for any other error. */
export function machineCode(error: unknown): string | undefined {
  if (!(error instanceof Error && "code" in error && typeof error.code === "string"))
    return undefined;
  return MACHINE_CODES.includes(error.code) ? error.code : undefined;
}

/** Returns the text about a machine's system error for callers and operators. */
export const machineText = (code: string): string =>
  code === "ENOSPC" || code === "EDQUOT"
    ? "the disk of the runner's machine is full"
    : `the runner's machine has a fault (${code}). See the runner's log`;

/** Several runs may wait for one container and fail with the same error; it is logged once. */
const logged = new WeakSet<Error>();

/**
 * Any other error is a defect or a problem of this machine: logged in full, reported in general
 * terms.
 */
export function asFailure(error: unknown, log: Log): Failure {
  if (error instanceof Failure) {
    const cause = causeOf(error);
    if (cause !== undefined && !logged.has(error))
      log.warn("a run failed", { why: new OfRun(error.message), error: new OfRun(cause) });
    logged.add(error);
    return error;
  }
  log.error("internal error during a run", { error: new OfRun(error) });
  const code = machineCode(error);
  if (code !== undefined) return ofMachine(machineText(code), { cause: error });
  return internal("the runner had an internal error. See the runner's log", { cause: error });
}

/** The innermost cause that is not a Failure. */
const causeOf = ({ cause }: Failure): unknown =>
  cause instanceof Failure ? causeOf(cause) : cause;

/** Returns the failure with its setup logs for the model's owner, and without them for others. */
export function withSetupLogs(owner: boolean, failure: Failure): Failure {
  const { source, message, setupLogs, detail } = failure;
  if (!setupLogs) return failure;
  const more = owner ? `:\n${setupLogs}` : ". The model's owner can see its logs";
  return new Failure(source, message + more, { cause: failure, ...(detail && { detail }) });
}

/** Returns the model's failure, completed by advice. */
export function withAdvice(error: unknown, advice: string | undefined): unknown {
  if (!advice || !(error instanceof Failure) || error.source !== "external") return error;
  const { setupLogs, detail } = error;
  const options = { cause: error, ...(setupLogs && { setupLogs }), ...(detail && { detail }) };
  return external(`${error.message}. ${sentence(advice)}`, options);
}

/**
 * Returns a message as a sentence. Messages are parts of longer ones, such as "exited with code 1", until callers
 * read them. Several lines end with the logs of a container.
 */
export const sentence = (message: string): string =>
  message.replace(/^[a-z](?=[a-z]*[ '])/, (letter) => letter.toUpperCase()) +
  (message.includes("\n") || /[.?!]$/.test(message) ? "" : ".");

export function failedFinish(failure: Failure, output: Finish["output"] = "none"): Finish {
  const { source, detail, isQuoted } = failure;
  const text = isQuoted ? failure.message : sentence(failure.message);
  const message = text.slice(0, MAX_MESSAGE_CHARS);
  const error = detail === undefined ? { source, message } : { source, message, detail };
  return { status: "failed", output, error };
}
