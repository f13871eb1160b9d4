/** One request, and one that is repeated until it is answered. */
import type { Call as Request } from "../../../src/dev/client.ts";
import type { MadeCall } from "../history.ts";
import { type Ground, longerEachTime, pause } from "./ground.ts";

export interface Answer {
  status: number;
  text: string;
  headers: Headers;
  askedAt: number;
}

/** No request waits longer for its answer, ms: what is longer on its way is lost behind a cable. */
const TIMEOUT_MS = 30_000;
/** Between the first two tries, ms. */
const RETRY_MS = 200;

/** What the service says when it does not know itself what happened (src/errors.ts). */
const INTERNAL = /Something went wrong on our side/;

/** @returns undefined when it broke off: what came of it is unknown */
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
    return { status, headers, text, askedAt };
  } catch {
    return undefined;
  }
}

/** @returns undefined when all patience has come to its end */
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
    await pause(ground, delay());
  }
  return undefined;
}

/** Too slow: the control plane was stopped, or the cable. Too many: not now. */
export const RETRIED = [408, 429];

/** A call of the vendora convention names its prediction also when that has failed. */
const isAnswered = ({ status, headers }: Answer) =>
  (status < 500 && !RETRIED.includes(status)) || headers.has("auspex-prediction-id");
