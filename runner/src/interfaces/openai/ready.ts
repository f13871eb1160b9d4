/** Waits until an OpenAI-compatible server is ready, and reads the name of its model. */

import { z } from "zod";
import { sleep } from "../../../../src/lib/timeout.ts";
import { parseAs } from "../../../../src/run/bounded-json.ts";
import { external, Failure } from "../../../../src/run/failure.ts";
import { type Answer, type ContainerClient, isConnectionError } from "../container-client.ts";
import { apiKeyRequired, type Timing } from "../interface.ts";
import type { ListenWatch } from "../listen-watch.ts";

export const HEALTH = "/health";
const MODELS = "/v1/models";

/** The timeout of an answer: a healthy server answers at once; a server on a busy machine gets some time. */
const ANSWER_MS = 2_000;
/** Small models are ready within the first second: check more often. */
const EAGER_MS = 1_000;
const EAGER_POLL_MS = 20;

const models = z.object({ data: z.array(z.object({ id: z.string() })) });

export interface ReadyServer {
  health: string;
  model: string | undefined;
}

/** Statuses that are transient; other 3xx and 4xx are permanent. */
const TRANSIENT_STATUSES = [408, 425, 429];

/**
 * Refused connections, 503 and other transient errors mean that the model is loading. `report` gets
 * each status that is waited for once.
 * @throws Failure if it is not such a server; the signal's reason
 */
export async function waitUntilReady(
  client: ContainerClient,
  { readinessPollMs }: Pick<Timing, "readinessPollMs">,
  report: (logs: string) => void,
  end: AbortSignal,
  watch?: ListenWatch,
): Promise<ReadyServer> {
  const startedAt = performance.now();
  const reported = new Set<string>();
  const reportWaiting = (path: string, { status }: Answer) => {
    const line = `[auspex] ${path} responded with ${status}, waiting\n`;
    if (!reported.has(line)) report(line);
    reported.add(line);
  };
  let health = HEALTH;
  for (;;) {
    end.throwIfAborted();
    const answer = await get(client, health, watch);
    if (answer && isMissing(answer)) {
      if (health === MODELS) throw external(`the container has neither ${HEALTH} nor ${MODELS}`);
      health = MODELS;
      continue;
    }
    if (answer) requireNoKey(health, answer);
    if (answer && isFinal(answer)) throw external(unexpectedStatus(health, answer));
    if (answer && answer.status !== 200) reportWaiting(health, answer);
    const modelList = answer?.status === 200 ? await get(client, MODELS) : undefined;
    if (modelList?.status === 200) return { health, model: firstModel(modelList) };
    if (modelList && modelList.status < 500) return { health, model: undefined };
    if (modelList) reportWaiting(MODELS, modelList);
    const eager = performance.now() - startedAt < EAGER_MS;
    await sleep(eager ? Math.min(EAGER_POLL_MS, readinessPollMs) : readinessPollMs, end);
  }
}

async function get(
  client: ContainerClient,
  path: string,
  watch?: ListenWatch,
): Promise<Answer | undefined> {
  try {
    const answer = await client.call({ method: "GET", path, timeoutMs: ANSWER_MS });
    watch?.answered();
    return answer;
  } catch (error) {
    // A response that is not HTTP, or too large, will not change.
    if (error instanceof Failure) throw error;
    if (isConnectionError(error)) await watch?.refused();
    return undefined;
  }
}

const isFinal = ({ status }: Answer) =>
  status >= 300 && status < 500 && !TRANSIENT_STATUSES.includes(status);

function requireNoKey(path: string, { status }: Answer): void {
  if (status === 401 || status === 403) throw apiKeyRequired(`${path} with ${status}`);
}

function unexpectedStatus(path: string, { status }: Answer): string {
  const why = status < 400 ? "redirects are not followed" : "expected 200";
  return `the container responded to ${path} with ${status}: ${why}`;
}

const isMissing = ({ status }: Answer) => status === 404 || status === 405;

const firstModel = ({ body }: Answer) => parseAs(models, body)?.data[0]?.id;
