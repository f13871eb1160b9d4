/** When a vendora server is ready, and what it calls its model. */
import { z } from "zod";
import { external, Failure } from "../../containers/failure.ts";
import { sleep } from "../../lib/wait.ts";
import { keyDemanded } from "../advice.ts";
import { parseAs } from "../cog/protocol.ts";
import type { Answer, ContainerClient } from "../http.ts";
import type { Timing } from "../interface.ts";

export const HEALTH = "/health";
const MODELS = "/v1/models";

/** A server that is up answers in no time; one whose machine is busy gets a little. */
const ANSWER_MS = 2_000;
/** Small models are ready in their first second: look more often. */
const EAGER_MS = 1_000;
const EAGER_POLL = 20;

const models = z.object({ data: z.array(z.object({ id: z.string() })) });

export interface Served {
  health: string;
  model: string | undefined;
}

/** Of 3xx and 4xx these pass by themselves; the others are for good. */
const MAY_PASS = [408, 425, 429];

/**
 * Refused connections and 503 mean that the model is loading, and so does all else that may pass.
 * `report` is told of every status that is waited for, once.
 * @throws Failure when it is no such server; the signal's reason
 */
export async function awaitServer(
  client: ContainerClient,
  { readinessPoll }: Pick<Timing, "readinessPoll">,
  report: (logs: string) => void,
  end: AbortSignal,
): Promise<Served> {
  const begun = performance.now();
  const told = new Set<string>();
  const tell = (path: string, { status }: Answer) => {
    const line = `[auspex] ${path} answers ${status}: waiting\n`;
    if (!told.has(line)) report(line);
    told.add(line);
  };
  let health = HEALTH;
  for (;;) {
    end.throwIfAborted();
    const answer = await look(client, health);
    if (answer && isMissing(answer)) {
      if (health === MODELS) throw external(`the container has neither ${HEALTH} nor ${MODELS}`);
      health = MODELS;
      continue;
    }
    if (answer) refuseKeys(health, answer);
    if (answer && isFinal(answer)) throw external(complaint(health, answer));
    if (answer && answer.status !== 200) tell(health, answer);
    const listed = answer?.status === 200 ? await look(client, MODELS) : undefined;
    if (listed?.status === 200) return { health, model: firstOf(listed) };
    if (listed && listed.status < 500) return { health, model: undefined };
    if (listed) tell(MODELS, listed);
    const eager = performance.now() - begun < EAGER_MS;
    await sleep(eager ? Math.min(EAGER_POLL, readinessPoll) : readinessPoll, end);
  }
}

const look = (client: ContainerClient, path: string): Promise<Answer | undefined> =>
  client.call({ method: "GET", path, timeout: ANSWER_MS }).catch((error) => {
    // What is no HTTP, or too much of it, will not be another time.
    if (error instanceof Failure) throw error;
    return undefined;
  });

const isFinal = ({ status }: Answer) => status >= 300 && status < 500 && !MAY_PASS.includes(status);

function refuseKeys(path: string, { status }: Answer): void {
  if (status === 401 || status === 403) throw keyDemanded(`${path} with ${status}`);
}

function complaint(path: string, { status }: Answer): string {
  const why = status < 400 ? "redirects are not followed" : "200 is due";
  return `the container answers ${path} with ${status}, where ${why}`;
}

const isMissing = ({ status }: Answer) => status === 404 || status === 405;

const firstOf = ({ body }: Answer) => parseAs(models, body)?.data[0]?.id;
