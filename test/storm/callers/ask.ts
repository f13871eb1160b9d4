/** A single request, and a request that is repeated until it is answered. */
import type { Call as Request } from "../../../src/dev/client.ts";
import type { MadeCall } from "../history.ts";
import { isLosing } from "./changes.ts";
import { type Ground, longerEachTime, pause } from "./ground.ts";

export interface Answer {
  status: number;
  text: string;
  headers: Headers;
  askedAt: number;
}

/** The most time that a request waits for its answer, ms: a slower one is lost behind a cable. */
const TIMEOUT_MS = 30_000;
/** The time between the first two tries, ms. */
const RETRY_MS = 200;

/** Statuses of a caller whose access has ended. */
const REFUSED = [401, 403, 404];
/** The service's message for an error that it does not know (src/errors/errors.ts). */
const INTERNAL = /Something went wrong on our side/;

/** @returns undefined when the connection broke off, so that the outcome is unknown, or the caller has lost its access */
export async function ask(
  ground: Ground,
  made: MadeCall,
  method: string,
  path: string,
  request: Request = {},
): Promise<Answer | undefined> {
  const askedAt = Date.now();
  const signal = AbortSignal.any([ground.over, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const response = await ground.clientOf(made.call).fetch(method, path, { ...request, signal });
    const { status, headers } = response;
    const text = await response.text();
    if (INTERNAL.test(text)) {
      const { n } = made.call;
      ground.recorder.odd({ what: `${method} ${path} failed`, answer: `${status}: ${text}`, n });
    }
    if (REFUSED.includes(status) && isLosing(ground, made.call)) return undefined;
    return { status, headers, text, askedAt };
  } catch {
    return undefined;
  }
}

/** @returns undefined when `over` is aborted or the caller has lost its access */
export async function insist(
  ground: Ground,
  made: MadeCall,
  method: string,
  path: string,
  request: Request = {},
): Promise<Answer | undefined> {
  const delay = longerEachTime(RETRY_MS);
  while (!ground.over.aborted) {
    const answer = await ask(ground, made, method, path, request);
    if (answer && isAnswered(answer)) return answer;
    if (isLosing(ground, made.call)) return undefined;
    await pause(ground, delay());
  }
  return undefined;
}

/**
 * Statuses that are tried again. 408: the control plane or the cable was stopped. 429: the service is busy.
 */
export const RETRIED = [408, 429];

/**
 * Whether an answer is final. A call of the OpenAI convention names its prediction also when that has
 * failed.
 */
const isAnswered = ({ status, headers }: Answer) =>
  (status < 500 && !RETRIED.includes(status)) || headers.has("auspex-prediction-id");
