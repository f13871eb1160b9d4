/**
 * Failures of runs, with the side that is at fault. The message becomes the finish's error, which callers
 * read, so it is worded for them. Details of this machine (paths, sockets, addresses, system errors) are the
 * cause, which goes to the runner's log.
 */
import type { Finish, RunError } from "../protocol/channel.ts";
import type { Json } from "../protocol/common.ts";

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
