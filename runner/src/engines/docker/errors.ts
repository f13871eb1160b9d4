/** Expected errors of Docker: something is already gone, or Docker restarts while its containers go on. */
import { sleep } from "../../../../src/lib/timeout.ts";

/** A restart takes seconds. */
const AGAIN_MS = 1_000;
/** A start that has waited longer goes to another machine. */
const MAX_AWAY = 60;

/** Error codes of a missing socket, a socket without a listener, or a broken connection. */
const CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT",
  "EPIPE",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

export const isAway = (error: unknown): boolean =>
  error instanceof Error && "code" in error && CODES.has(String(error.code));

export interface Wait {
  signal?: AbortSignal;
  /** Called once, when Docker does not answer. */
  onAway?: () => void;
  /** Whether to give up after a minute. */
  isBounded?: boolean;
}

/**
 * Asks until Docker answers. It must not matter that Docker may have been asked before.
 * @throws the signal's reason; the last error once it gives up
 */
export async function onceBack<T>(
  ask: () => Promise<T>,
  { signal, onAway, isBounded = false }: Wait = {},
): Promise<T> {
  for (let asked = 0; ; asked++) {
    try {
      return await ask();
    } catch (error) {
      if (!isAway(error) || (isBounded && asked >= MAX_AWAY)) throw error;
      if (asked === 0) onAway?.();
      await sleep(AGAIN_MS, signal);
      signal?.throwIfAborted();
    }
  }
}

/** Returns Docker's response; undefined for one of these statuses. */
export async function ignoreStatus<T>(
  statuses: number[],
  answer: Promise<T>,
): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
    if (typeof status === "number" && statuses.includes(status)) return undefined;
    throw error;
  }
}
