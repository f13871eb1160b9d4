/** Calls to a Durable Object whose result is optional: the response does without a slow or broken one. */
import { settlesWithin } from "../lib/timeout.ts";
import { logger } from "../log.ts";

const TIMEOUT_MS = 3_000;

/** @returns undefined after a timeout or an error, which is logged with the object's name */
export async function withTimeout<Result>(
  call: Promise<Result>,
  objectName: string,
  timeoutMs = TIMEOUT_MS,
): Promise<Result | undefined> {
  try {
    if (await settlesWithin(call, timeoutMs)) return await call;
    throw new Error(`no answer in ${timeoutMs} ms`);
  } catch (error) {
    logger.warn("Durable Object did not answer", { object: objectName, error });
    return undefined;
  }
}
