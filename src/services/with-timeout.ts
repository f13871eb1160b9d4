/** Asks an object that may be slow or broken, where the others' answers are worth having without its own. */

import { settlesWithin } from "../lib/timeout.ts";
import { logger } from "../log.ts";

const PATIENCE_MS = 3_000;

/** @returns undefined when there is no answer in time, or an error */
export async function withTimeout<Answer>(
  asking: Promise<Answer>,
  who: string,
): Promise<Answer | undefined> {
  try {
    if (await settlesWithin(asking, PATIENCE_MS)) return await asking;
    throw new Error(`no answer in ${PATIENCE_MS} ms`);
  } catch (error) {
    logger.warn("Durable Object did not answer", { object: who, error });
    return undefined;
  }
}
