/**
 * Why a run did not come to a result, and whose doing that is; ends up as the finish's error, which
 * callers read. So its message is about what they know. What is about this machine (its paths,
 * sockets, addresses, what its system says) is the cause, which goes to the runner's log.
 */
import type { Finish, RunError } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Log } from "../lib/log.ts";

/** What `runError.message` takes. */
const MAX_MESSAGE_CHARS = 10_000;

export interface FailureOptions extends ErrorOptions {
  /** What programs are told of it. */
  detail?: Json;
  /** What the container had printed as it started: for its model's owner alone. */
  setupLogs?: string;
}

export class Failure extends Error {
  readonly source: RunError["source"];
  readonly detail: Json | undefined;
  readonly setupLogs: string | undefined;

  constructor(source: RunError["source"], message: string, options?: FailureOptions) {
    super(message, options);
    this.source = source;
    this.detail = options?.detail;
    this.setupLogs = options?.setupLogs;
  }
}

/** The model or its container is to blame. */
export const external = (message: string, options?: FailureOptions): Failure =>
  new Failure("external", message, options);

/** The runner or its machine is to blame. */
export const internal = (message: string, options?: FailureOptions): Failure =>
  new Failure("internal", message, options);

/** Several runs may wait for one container, and end by the same failure. */
const logged = new WeakSet<Error>();

/** What is not a Failure is a defect or the machine's trouble: logged whole, told in general. */
export function asFailure(error: unknown, log: Log): Failure {
  if (error instanceof Failure) {
    const cause = causeOf(error);
    if (cause !== undefined && !logged.has(error)) log.warn(error.message, { error: cause });
    logged.add(error);
    return error;
  }
  const stack = error instanceof Error ? error.stack : String(error);
  log.error("a run failed inside the runner", { stack });
  return internal("the runner had a problem of its own; its log says which", { cause: error });
}

/** Behind failures of failures. */
const causeOf = ({ cause }: Failure): unknown =>
  cause instanceof Failure ? causeOf(cause) : cause;

/** As it is told to the model's owner, or to somebody else. */
export function withSetupLogs(owner: boolean, failure: Failure): Failure {
  const { source, message, setupLogs, detail } = failure;
  if (!setupLogs) return failure;
  const more = owner ? `:\n${setupLogs}` : " (its log is for the model's owner to read)";
  return new Failure(source, message + more, { cause: failure, ...(detail && { detail }) });
}

export function failedFinish(failure: Failure, output: Finish["output"] = "none"): Finish {
  const { source, detail } = failure;
  const message = failure.message.slice(0, MAX_MESSAGE_CHARS);
  const error = detail === undefined ? { source, message } : { source, message, detail };
  return { status: "failed", output, error };
}
