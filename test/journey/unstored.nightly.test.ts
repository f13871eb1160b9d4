/** A control plane that is killed with -9 while readers watch, and a runner that survives or dies with it. */

import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { USERNAME } from "./support/access.ts";
import { told } from "./support/conventions.ts";
import { endOf } from "./support/end.ts";
import type { Watch } from "./support/watch.ts";
import { World } from "./support/world.ts";

type Event = OpenAI.Responses.ResponseStreamEvent;

/** Between two tries while the control plane is away, ms. */
const RETRY_MS = 50;
const END = /^response\.(completed|incomplete|failed)$/;

class ResponseWatch {
  readonly events: Event[] = [];
  readonly ended: Promise<void>;
  readonly #openai: OpenAI;

  constructor({ url, token }: { url: string; token: string }, model: string, input: string) {
    this.#openai = new OpenAI({ apiKey: token, baseURL: `${url}/v1/vendora`, maxRetries: 0 });
    this.ended = this.#follow(model, input);
    this.ended.catch(() => {});
  }

  get text(): string {
    return this.events
      .map((event) => (event.type === "response.output_text.delta" ? event.delta : ""))
      .join("");
  }

  async #follow(model: string, input: string): Promise<void> {
    const { responses } = this.#openai;
    let stream: AsyncIterable<Event> | undefined = await responses.create({
      model,
      input,
      background: true,
      stream: true,
    });
    for (;;) {
      try {
        for await (const event of stream ?? (await this.#resume())) this.events.push(event);
      } catch {
        // The control plane is away.
      }
      if (END.test(this.events.at(-1)?.type ?? "")) return;
      stream = undefined;
      await sleep(RETRY_MS);
    }
  }

  #resume(): Promise<AsyncIterable<Event>> {
    const [first] = this.events;
    if (first?.type !== "response.created") throw new Error("it was never created");
    // An error on the stream is not an event of the response, and has none of its sequence numbers.
    const last = this.events.findLast(({ type }) => type !== "error");
    const starting_after = last?.sequence_number ?? 0;
    return this.#openai.responses.retrieve(first.response.id, { stream: true, starting_after });
  }
}

let world: World;

beforeAll(async () => {
  // workerd comes back within the lease.
  world = await World.open({ variables: { LEASE_SECONDS: "6" } });
});
afterEach(() => world.retireAll());
afterAll(() => world.close());

const RUNS = 3;
const WORDS = Array.from({ length: 80 }, (_, n) => `w${n} `);

/** Starts runs with two kinds of readers each, and a response with a reader of its own. */
async function watched() {
  const runner = await world.runner("one", { slots: 8 });
  const response = new ResponseWatch(
    world.access,
    `${USERNAME}/oracle`,
    told({ say: WORDS, every: 30 }),
  );
  const first = await Promise.all(
    Array.from({ length: RUNS }, (_, seed) =>
      world.create("text-generation", { max_tokens: 100, seed, delay_ms: 30 }),
    ),
  );
  const readers = first.map((one) => [one, world.watch(one.id, true), world.watch(one.id)]);
  for (const one of first) await one.until(({ id }) => id > 30);
  await vi.waitFor(() => expect(response.events.length).toBeGreaterThan(10));
  return { runner, response, readers };
}

function expectRising(numbers: number[]): void {
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
}

const textOf = ({ events }: Watch, isStored: (id: number) => boolean) =>
  events.filter(({ id, event }) => event === "output" && isStored(id)).map(({ data }) => data);

it("every reader has read all, once and in order, when the runner survives the control plane", async () => {
  const { response, readers } = await watched();
  world.killControlPlane();
  for (const [first, ...others] of readers) {
    if (!first) throw new Error("nobody reads it");
    const full = await endOf(world, first, "succeeded");
    expect(first.breaks).toBeGreaterThan(0);
    expect(first.dataOf("output")).toEqual(full.output);
    for (const other of others) {
      await other.ended;
      expect(other.events).toEqual(first.events);
    }
  }
  await response.ended;
  expectRising(response.events.map((event) => event.sequence_number));
  expect(response.text).toBe(WORDS.join(""));
  expect(response.events.at(-1)?.type).toBe("response.completed");
});

it("every reader sees the end, and at most the last moment is lost, when the runner dies, too", async () => {
  const { runner, response, readers } = await watched();
  world.killControlPlane();
  await runner.kill();
  for (const all of readers) {
    for (const reader of all) {
      await reader.ended;
      const replay = world.watch(reader.id);
      await replay.ended;
      expectRising(reader.events.map(({ id }) => id));
      const stored = new Set(replay.events.map(({ id }) => id));
      const isStored = (id: number) => stored.has(id);
      expect(reader.events.filter(({ id }) => isStored(id))).toEqual(replay.events);
      const { status, output } = await world.get(reader.id);
      expect([status, textOf(reader, isStored)]).toEqual(["failed", output]);
    }
  }
  await response.ended;
  expectRising(response.events.map((event) => event.sequence_number));
  expect(WORDS.join("").startsWith(response.text)).toBe(true);
  expect(response.events.at(-1)?.type).toBe("response.failed");
});
