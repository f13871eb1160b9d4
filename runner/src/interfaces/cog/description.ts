/**
 * What a Cog container says of its input and its output. It is asked once, for the container's
 * whole life, so what does not answer is asked again: files would be taken for plain text.
 */

import { sleep, untilAborted } from "../../../../src/lib/timeout.ts";
import { external, Failure } from "../../containers/failure.ts";
import { reasonOf } from "../../control-plane/error.ts";
import type { ContainerClient } from "../container-client.ts";
import { declaresFiles, isIterator, openapi, parseAs, takesChatOnly } from "./protocol.ts";

export interface Description {
  /** Whether the output is a list that grows. */
  iterator: boolean;
  declaresFiles: boolean;
  /** Whether it takes `messages`, and no `input` in the words of responses. */
  chatOnly: boolean;
}

/** Milliseconds: for one answer, for all tries, between two of them, and until the wait is told. */
const TIMES = { answerMs: 30_000, patienceMs: 60_000, pollMs: 500, quietMs: 5_000 };

/** Without a schema an output is one value, and what is in it is no file. */
const NO_SCHEMA: Description = { iterator: false, declaresFiles: false, chatOnly: false };

/** Of 4xx these pass by themselves; the others say that there is no schema. */
const TRANSIENT_STATUSES = [408, 425, 429];

/**
 * @param report takes what the publisher's setup logs say of it
 * @throws Failure when it cannot be had; the signal's reason
 */
export async function describe(
  client: ContainerClient,
  { report, end }: { report: (logs: string) => void; end: AbortSignal },
  times = TIMES,
): Promise<Description> {
  const startedAt = performance.now();
  let isReported = false;
  for (;;) {
    const answer = await fetchDescription(client, end, times.answerMs);
    if (typeof answer === "object") return answer;
    const waited = performance.now() - startedAt;
    if (waited > times.quietMs && !isReported) {
      isReported = true;
      report(waiting(answer, times.patienceMs));
    }
    if (waited > times.patienceMs) {
      // Who answers so for good, as coglet may with 503, has none.
      if (typeof answer === "number") return NO_SCHEMA;
      throw external(`the container did not say what its output is: /openapi.json ${answer}`);
    }
    await sleep(times.pollMs, end);
  }
}

const waiting = (answer: number | string, patienceMs: number) => {
  const what = typeof answer === "number" ? `answers ${answer}` : answer;
  return `the model is ready, but its /openapi.json ${what}: it is asked for up to ${patienceMs / 1000} s. An image with its schema in it, as cog build makes it, starts at once.\n`;
};

/** The description, or why there is none yet: a status, or words. */
async function fetchDescription(
  client: ContainerClient,
  end: AbortSignal,
  timeoutMs: number,
): Promise<Description | number | string> {
  const call = client.call({ method: "GET", path: "/openapi.json", timeoutMs });
  try {
    const { status, body } = await untilAborted(call, end);
    if (status === 200) return read(body);
    return status >= 400 && status < 500 && !TRANSIENT_STATUSES.includes(status)
      ? NO_SCHEMA
      : status;
  } catch (error) {
    end.throwIfAborted();
    if (error instanceof Failure) throw error;
    return `does not answer (${reasonOf(error)})`;
  }
}

function read(body: string): Description {
  const document = parseAs(openapi, body);
  if (!document) throw external("the container's /openapi.json is not Cog's");
  return {
    iterator: isIterator(document),
    declaresFiles: declaresFiles(document),
    chatOnly: takesChatOnly(document),
  };
}
