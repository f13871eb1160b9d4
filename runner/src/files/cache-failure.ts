/** Why the cache cannot store a file. */
import { Failure, internal, machineCode, ofMachine } from "../lib/failure.ts";

/** The files in use leave too little room at the moment. */
export class CacheFull extends Failure {
  /** The bytes that need room; undefined if unknown. */
  readonly bytes: number | undefined;

  constructor(bytes: number | undefined) {
    super("internal", "the runner's cache has no room besides the files in use");
    this.bytes = bytes;
  }
}

/**
 * Turns disk errors into failures and returns others unchanged. Errors of a file's source have
 * types of their own, so an error with a system code comes from the disk.
 */
export function asDiskFailure(error: unknown): unknown {
  if (!(error instanceof Error && "code" in error && typeof error.code === "string")) return error;
  const make = machineCode(error) === undefined ? internal : ofMachine;
  return error.code === "ENOSPC"
    ? make("the disk of the runner's cache is full", { cause: error })
    : make(`the runner's cache is not writable: ${error.code}`, { cause: error });
}
