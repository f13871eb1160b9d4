/** The pace of frames: finer while somebody reads, with one row for all events since the last one. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import { EventReader } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { logRowsOf, objectOf } from "../support/objects.ts";
import type { Channel } from "../support/runner.ts";
import { fakeTimers, startClock } from "../support/time.ts";
import { output } from "../support/unstored.ts";
import { newWorld } from "../support/world.ts";

afterEach(startClock);

const TOKENS = 500;
const TOKEN_MS = 20;

/** Reports a token every 20 ms, in frames of the pace that the runner last received. */
async function putOut(id: string, channel: Channel): Promise<void> {
  const object = await objectOf(id);
  for (let sent = 0; sent < TOKENS; ) {
    const count = Math.ceil((channel.paces.at(-1) ?? 0) / TOKEN_MS);
    const tokens = Array.from({ length: Math.min(count, TOKENS - sent) }, (_, n) => `${sent + n} `);
    channel.push(tokens.map(output));
    sent += tokens.length;
    await runInDurableObject(object, () => vi.advanceTimersByTimeAsync(count * TOKEN_MS));
  }
  await channel.succeed();
}

const logRows = async (id: string) => (await logRowsOf(await objectOf(id))).length;

describe("a run with 500 tokens in 10 s", () => {
  test.each([
    ["tokens without a reader take at most 20 rows", false, 20],
    ["tokens with a reader take at most 50 rows", true, 50],
  ])("%s", async (_, isRead, most) => {
    const { client, begun } = await newWorld();
    const { id, channel } = await begun();
    await runInDurableObject(await objectOf(id), fakeTimers);
    const reading = isRead ? new EventReader((await client.stream(id)).body).rest() : undefined;
    await putOut(id, channel);
    await reading;
    expect((await client.get(id)).output).toHaveLength(TOKENS);
    const n = await logRows(id);
    expect(n).toBeLessThanOrEqual(most);
    expect(n).toBeGreaterThan(most / 2);
  });
});

test("a runner gets a new pace when the first reader comes, and with an ack after the last one left", async () => {
  const { client, begun } = await newWorld();
  const { id, channel } = await begun();
  await channel.output("a");
  expect(new Set(channel.paces)).toEqual(new Set([1_000]));
  const readers = [await client.stream(id), await client.stream(id)].map(
    ({ body }) => new EventReader(body),
  );
  await eventually(() => expect(channel.paces.at(-1)).toBe(30));
  for (const reader of readers) await reader.take(4);
  channel.push([output("b")]);
  for (const reader of readers) expect(await reader.next()).toMatchObject({ data: "b" });
  await readers[0]?.leave();
  await channel.output("c");
  expect(channel.paces.at(-1)).toBe(30);
  await readers[1]?.leave();
  await eventually(async () => {
    await channel.output("d");
    expect(channel.paces.at(-1)).toBe(1_000);
  });
  await channel.succeed();
});
