/**
 * Reads a Cog container's schema. It is read once for the container's life, so errors are retried:
 * without it files would be taken for plain text.
 */

import { sleep, untilAborted } from "../../../../src/lib/timeout.ts";
import { parseAs } from "../../../../src/run/bounded-json.ts";
import { external, Failure } from "../../../../src/run/failure.ts";
import { reasonOf } from "../../lib/error.ts";
import type { ContainerClient } from "../container-client.ts";
import { declaresFiles, isIterator, openapi, takesChatOnly } from "./protocol.ts";

export interface Description {
  /** Whether the output is a list that grows item by item. */
  iterator: boolean;
  declaresFiles: boolean;
  /** Whether the model accepts chat `messages` and no responses `input`. */
  chatOnly: boolean;
}

/** The limits of one answer and of all attempts, the pause between attempts, and the time until a report. */
const TIMES = { answerMs: 30_000, patienceMs: 60_000, pollMs: 500, quietMs: 5_000 };

/** A container without a schema has one output value without files. */
const NO_SCHEMA: Description = { iterator: false, declaresFiles: false, chatOnly: false };

/** Statuses that are transient; other 4xx mean that there is no schema. */
const TRANSIENT_STATUSES = [408, 425, 429];

/**
 * @param report receives lines for the setup logs
 * @throws Failure if it cannot be read; the signal's reason
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
      // A server that keeps answering this way has none, such as coglet with 503.
      if (typeof answer === "number") return NO_SCHEMA;
      throw external(`the container's output schema could not be read: /openapi.json ${answer}`);
    }
    await sleep(times.pollMs, end);
  }
}

const waiting = (answer: number | string, patienceMs: number) => {
  const what = typeof answer === "number" ? `responds with ${answer}` : answer;
  return `the model is ready, but its /openapi.json ${what}: retrying for up to ${patienceMs / 1000} s. Images built by cog build include their schema and start at once.\n`;
};

/** The description, or why there is none yet: a status or a message. */
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
    return `does not respond (${reasonOf(error)})`;
  }
}

function read(body: string): Description {
  const document = parseAs(openapi, body);
  if (!document) throw external("the container's /openapi.json response is not Cog's");
  return {
    iterator: isIterator(document),
    declaresFiles: declaresFiles(document),
    chatOnly: takesChatOnly(document),
  };
}
