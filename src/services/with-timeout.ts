/** Asks an object that may be slow or broken, where the others' answers are worth having without its own. */

import { TimeLimit } from "../lib/time-limit.ts";
import { logger } from "../log.ts";

const PATIENCE_MS = 3_000;

/** @returns undefined when there is no answer in time, or an error */
export async function withTimeout<Answer>(
  asking: Promise<Answer>,
  who: string,
): Promise<Answer | undefined> {
  const limit = new TimeLimit(PATIENCE_MS);
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`no answer in ${PATIENCE_MS} ms`);
    limit.signal.addEventListener("abort", () => reject(error));
  });
  try {
    return await Promise.race([asking, late]);
  } catch (error) {
    logger.warn("Durable Object did not answer", { object: who, error });
    return undefined;
  } finally {
    limit.callOff();
  }
}
