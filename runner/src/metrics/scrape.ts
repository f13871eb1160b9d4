/** Reads /metrics of the containers of this runner, all at once and within 2 seconds. */
import type { ServingContainer } from "../jobs/executor.ts";
import { HttpClient } from "../lib/http-client.ts";
import type { Origin, Passed } from "./merge.ts";
import { MAX_POINTS, parseMetrics } from "./parse.ts";

const ANSWER_MS = 2_000;
const MAX_BYTES = 4 * 1024 ** 2;
/**
 * The limits of all texts and of all series together, of which each container has an equal share: while they are
 * read, the runner does nothing else, and leases end after 30 s without a ping.
 */
const MAX_TOTAL_BYTES = 16 * 1024 ** 2;
const MAX_TOTAL_POINTS = 40_000;

export class ContainerScraper {
  readonly #runner: string;
  /** The number of each container among those of its version, which is free again after its end. */
  readonly #numbers = new Map<string, { version: string; number: number }>();

  /** @param runner its name */
  constructor(runner: string) {
    this.#runner = runner;
  }

  /** Never rejects. A container that serves no metrics, or too much, or too late, is left out. */
  async scrape(containers: readonly ServingContainer[]): Promise<Passed[]> {
    const shareOf = (total: number) => Math.floor(total / containers.length);
    const maxBytes = Math.min(MAX_BYTES, shareOf(MAX_TOTAL_BYTES));
    const maxPoints = Math.min(MAX_POINTS, shareOf(MAX_TOTAL_POINTS));
    const origins = this.#originsOf(containers);
    const passed = containers.map(async ({ name, address }): Promise<Passed[]> => {
      const origin = origins.get(name);
      const text = await readText(address, maxBytes).catch(() => undefined);
      if (!origin || text === undefined) return [];
      return [{ origin, text: parseMetrics(text, maxPoints) }];
    });
    return (await Promise.all(passed)).flat();
  }

  #originsOf(containers: readonly ServingContainer[]): Map<string, Origin> {
    const present = new Set(containers.map(({ name }) => name));
    for (const name of this.#numbers.keys()) if (!present.has(name)) this.#numbers.delete(name);
    return new Map(
      containers.map(({ name, model, version }) => {
        const container = String(this.#numberOf(name, `${model}:${version}`));
        return [name, { runner: this.#runner, model, version, container }];
      }),
    );
  }

  #numberOf(name: string, version: string): number {
    const known = this.#numbers.get(name);
    if (known) return known.number;
    const alike = [...this.#numbers.values()].filter((one) => one.version === version);
    const taken = new Set(alike.map(({ number }) => number));
    let number = 0;
    while (taken.has(number)) number += 1;
    this.#numbers.set(name, { version, number });
    return number;
  }
}

/** @throws Error if it is not there in time, or too large */
async function readText(address: URL, maxBytes: number): Promise<string | undefined> {
  const client = new HttpClient(address, ANSWER_MS);
  const signal = AbortSignal.timeout(ANSWER_MS);
  const get = (path: string) =>
    client.call(path, {
      method: "GET",
      headers: { accept: "text/plain;version=0.0.4" },
      timeoutMs: ANSWER_MS,
      signal,
      maxBytes,
    });
  try {
    const first = await get("/metrics");
    // Servers in Python that mount an app at this path redirect to it.
    const { status, body } = first.status === 307 ? await get("/metrics/") : first;
    return status === 200 ? body : undefined;
  } finally {
    client.close();
  }
}
