/** Why the cache does not take a file. */
import { Failure, internal } from "../containers/failure.ts";

/** What is in use leaves too little room at the moment. */
export class CacheFull extends Failure {
  /** What there has to be room for; undefined where nobody knows it. */
  readonly bytes: number | undefined;

  constructor(bytes: number | undefined) {
    super("internal", "there is no room beside the files in use in the runner's cache");
    this.bytes = bytes;
  }
}

/**
 * The disk's errors as failures, others as they are. Bodies throw errors of their own, so that what
 * has the name of a system's error is the disk's.
 */
export function asDiskFailure(error: unknown): unknown {
  if (!(error instanceof Error && "code" in error && typeof error.code === "string")) return error;
  return error.code === "ENOSPC"
    ? internal("the disk of the runner's cache is full", { cause: error })
    : internal(`the runner's cache cannot be written: ${error.code}`, { cause: error });
}
