/** Failures of the runner: those of its machine, and what callers and the log say about them. */
import { external, Failure, internal, ofMachine, sentence } from "../../../src/run/failure.ts";
import type { Log } from "./log.ts";
import { OfRun } from "./log-ring.ts";

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
