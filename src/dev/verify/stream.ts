/** Checks that a stream can be resumed after a break, and across a deploy. */
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { predictionWithIO } from "../../protocol/prediction.ts";
import { CallFailed, type Client } from "../client.ts";
import { type Check, NotAsked } from "./check.ts";
import type { Visit } from "./visit.ts";

/** A reader leaves after this many events, and comes back. */
const LEAVE_AFTER = 8;
/** Time for which a stream goes on after the deploy, ms: old objects are replaced within it. */
const AFTERWARDS_MS = 40_000;

export const brokenStream: Check = {
  name: "Interrupted stream",
  async run(visit) {
    const reader = await Reader.of(visit, { max_tokens: 40, delay_ms: 50 });
    await reader.read((seen) => seen.length >= LEAVE_AFTER);
    await reader.read();
    return reader.check();
  },
};

/** @param deploy undefined: not asked for */
export const streamAcrossDeploy = (
  deploy: (() => Promise<void>) | undefined,
  afterwardsMs = AFTERWARDS_MS,
): Check => ({
  name: "Stream across a deploy",
  async run(visit) {
    if (!deploy) throw new NotAsked("pass --deploy to deploy in the middle of a stream");
    const reader = await Reader.of(visit, { max_tokens: 2_000, delay_ms: 250 });
    await reader.read((seen) => seen.length >= LEAVE_AFTER);
    const reading = reader.read();
    // The first failure ends the check, be it of the deploy or of the reader.
    await Promise.race([deploy(), reading.then(() => Promise.reject(new Error("it ended early")))]);
    await sleep(afterwardsMs);
    await visit.client.fetch("POST", `/predictions/${reader.id}/cancel`);
    await reading;
    return reader.check();
  },
});

type Event = Omit<Seen, "at">;

const MAX_TRIES = 20;
const RETRY_MS = 1_000;

class Reader {
  readonly id: string;
  readonly #client: Client;
  readonly #seen: Seen[] = [];
  /** Times at which the stream broke off without the reader, ms. */
  readonly #breaks: number[] = [];
  /** The number of times that the stream was resumed. */
  #resumed = 0;

  static async of(visit: Visit, input: Record<string, number>): Promise<Reader> {
    const body = {
      model: await visit.publish("text-generation"),
      input: { prompt: "The Queen", ...input },
    };
    const { id } = await visit.client.call(predictionWithIO, "POST", "/predictions", { body });
    return new Reader(visit.client, id);
  }

  private constructor(client: Client, id: string) {
    this.#client = client;
    this.id = id;
  }

  /** Reads to the end of the stream, or until `enough` holds. */
  async read(enough: (seen: Seen[]) => boolean = () => false): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const leaving = new AbortController();
      try {
        for await (const seen of this.#events(leaving.signal)) {
          tries = 0;
          this.#seen.push({ ...seen, at: performance.now() });
          if (seen.event === "done") return;
          if (enough(this.#seen)) {
            this.#resumed += 1;
            return leaving.abort();
          }
        }
      } catch (error) {
        if (error instanceof CallFailed && error.status < 500) throw error;
      }
      this.#breaks.push(performance.now());
      this.#resumed += 1;
      await sleep(RETRY_MS * Math.random());
    }
    throw new Error(`the stream could not be resumed in ${MAX_TRIES} attempts`);
  }

  /** Checks that the reader saw each event of the log once and in order, except events that may be lost. */
  async check(): Promise<string> {
    const log: Event[] = [];
    for await (const event of this.#client.events("GET", `/predictions/${this.id}/stream`))
      log.push(event);
    const [seen, breaks] = [this.#seen, this.#breaks];
    const lost = new Set(lostEvents({ seen, breaks, log }));
    const kept = seen.filter((event) => !lost.has(event)).map(({ at: _, ...event }) => event);
    const rises = seen.every(({ id }, n) => id > (seen[n - 1]?.id ?? 0));
    if (!rises || JSON.stringify(kept) !== JSON.stringify(log)) {
      throw new Error(
        `the client received events ${idsOf(seen)}, but the log has ${idsOf(log)}${apart(kept, log)} (prediction ${this.id})`,
      );
    }
    const andLost = lost.size > 0 ? `; ${lost.size} more were lost with the runner` : "";
    return `${log.length} events, each once and in order; resumed ${this.#resumed} times${andLost}`;
  }

  #events(signal: AbortSignal) {
    const headers = { "last-event-id": String(this.#seen.at(-1)?.id ?? 0) };
    return this.#client.events("GET", `/predictions/${this.id}/stream`, { headers, signal });
  }
}

/** Returns the first event that only one of the two has. */
function apart(seen: Event[], log: Event[]): string {
  const texts = log.map((event) => JSON.stringify(event));
  const n = texts.findIndex((text, at) => text !== JSON.stringify(seen[at]));
  const at = n < 0 ? log.length : n;
  return `: the reader had ${textOf(seen[at])} where the log has ${textOf(log[at])}`;
}

const textOf = (event: Event | undefined) =>
  event ? JSON.stringify(event).slice(0, 200) : "nothing more";

const idsOf = (events: Event[]) => `${events[0]?.id} to ${events.at(-1)?.id} (${events.length})`;

export interface Seen {
  id: number;
  event: string;
  data: unknown;
  /** Time at which the event came, ms. */
  at: number;
}

export interface Sight {
  seen: Seen[];
  /** Times at which the stream broke off or could not be resumed, ms. */
  breaks: number[];
  log: Pick<Seen, "id">[];
}

/** An object stores a shown event within 250 ms. A runner sends it again, unless it dies with the object. */
const STORED_MS = 250;
/** A break takes longer to arrive than the events before it: a connection ends on every machine between. */
const NOTICED_MS = 100;

/** Events of the prediction itself are stored before readers see them. */
const OWN = ["status", "error", "done"];

const change = z.object({ lost: z.number().optional(), attempt: z.number().optional() });

/** A new attempt may lose only the last events of the lost attempt. */
export function lostEvents({ seen, breaks, log }: Sight): Seen[] {
  const stored = new Set(log.map(({ id }) => id));
  const isMissing = ({ id, event }: Seen) => !stored.has(id) && !OWN.includes(event);
  return seen.flatMap((end, n) => {
    if (changeOf(end).lost === undefined || !isTriedAgain(seen.slice(n))) return [];
    const before = seen.slice(0, n);
    const tail = before.slice(before.findLastIndex((event) => !isMissing(event)) + 1);
    const last = tail.at(-1);
    const broke = last && breaks.find((at) => at >= last.at);
    if (broke === undefined) return [];
    return tail.filter(({ at }) => at >= broke - STORED_MS - NOTICED_MS);
  });
}

const isTriedAgain = (events: Seen[]) =>
  events.some((event) => changeOf(event).attempt !== undefined);

const changeOf = ({ event, data }: Seen): z.infer<typeof change> =>
  event === "status" ? (change.safeParse(data).data ?? {}) : {};
