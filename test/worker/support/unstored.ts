/** A prediction whose object dies between showing and storing. */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect } from "vitest";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import type { Configuration } from "../../../src/protocol/model.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { type Customer, newCustomer } from "./customer.ts";
import { EventReader, eventsOf, type ServerEvent } from "./events.ts";
import type { Channel, FakeRunner } from "./runner.ts";
import { withoutTimers } from "./time.ts";

/** A reader's request for the events after an ID. */
type Ask = (who: Customer, id: string, after: number) => Promise<Response>;

export const afterId: Ask = ({ client }, id, after) => client.stream(id, `?after_id=${after}`);

const lastEventId = (after: number) => ({ "last-event-id": `${after}` });

export const READERS: [string, Ask][] = [
  ["after_id", afterId],
  [
    "an EventSource, by Last-Event-ID",
    ({ client }, id, after) => client.stream(id, "", lastEventId(after)),
  ],
  [
    "the dashboard's page",
    ({ visitor }, id, after) =>
      visitor.fetch(`/predictions/${id}/events?after_id=1`, { headers: lastEventId(after) }),
  ],
];

export const output = (data: string): ReportedEvent => ({ event: "output", data });

/** A prediction whose object died after it had shown events that were not stored, and its further steps. */
export interface Interrupted {
  who: Customer;
  id: string;
  runner: FakeRunner;
  job: Job;
  /** All events that the reader has seen. */
  seen: ServerEvent[];
  /** Lets the reader return and read to the end. */
  resume(): Promise<void>;
  /** Lets the runner return and send again what was not acknowledged. */
  reconnect(): Promise<Channel>;
}

/**
 * Reads a prediction until it has shown these frames, of which it has stored only the first, and aborts its
 * object.
 */
export async function interrupted(
  ask: Ask,
  frames: ReportedEvent[][],
  configuration: Configuration = {},
): Promise<Interrupted> {
  const who = await newCustomer({}, { configuration });
  const id = await who.waiting();
  const runner = await who.runner();
  const { job, seen, stored } = await withoutTimers(async () => {
    const { job, channel } = await runner.work();
    const reader = new EventReader((await ask(who, id, 0)).body);
    const [first = [], ...rest] = frames;
    const stored = channel.push(first);
    await channel.acknowledged(stored);
    for (const frame of rest) channel.push(frame);
    const seen = await reader.take(3 + frames.flat().length);
    await abortAllDurableObjects();
    return { job, seen, stored };
  });
  return {
    who,
    id,
    runner,
    job,
    seen,
    async resume() {
      seen.push(...(await eventsOf(ask(who, id, seen.at(-1)?.id ?? 0))));
    },
    async reconnect() {
      const channel = await runner.connect(job);
      expect(channel.welcomed).toBe(stored);
      for (const frame of frames.slice(1)) channel.push(frame);
      return channel;
    },
  };
}

/**
 * Expects that the reader has seen all events of the log, once and in order, and besides them only the lost
 * ones.
 */
export async function expectStory({ who, id, seen }: Interrupted, lost: unknown[]): Promise<void> {
  const ids = seen.map((event) => event.id);
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
  const log = await eventsOf(who.client.stream(id));
  const isStored = (event: ServerEvent) => log.some((one) => one.id === event.id);
  expect(seen.filter(isStored)).toEqual(log);
  const others = seen.filter((event) => !isStored(event));
  expect(others.map(({ data }) => data)).toEqual(lost);
}
