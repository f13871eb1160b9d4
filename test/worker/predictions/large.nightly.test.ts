/** Frames, rows and references of the largest size. */
import { expect, test } from "vitest";
import { logRowsOf, objectOf } from "../support/objects.ts";
import { newWorld } from "../support/world.ts";

/** Returns an upper bound of the largest row in bytes: two per character. */
const largestRow = async (id: string) =>
  Math.max(...(await logRowsOf(await objectOf(id))).map((body) => 2 * body.length));

/** JSON text of `characters` characters, three bytes each except for the quotes. */
const euros = (characters: number) => "€".repeat(characters - 2);

test("a frame has 600,000 characters of JSON at most, in however many events", async () => {
  const { client, begun } = await newWorld();
  const { id, channel } = await begun();
  await channel.output(euros(599_900));
  await channel.output(euros(199_900), euros(199_900), euros(199_900));
  expect(await largestRow(id)).toBeLessThan(2_000_000);
  const events = [
    { event: "output", data: euros(300_000) },
    { event: "logs", data: euros(300_001) },
  ];
  expect(await channel.exchange({ type: "events", seq: 4, events })).toMatchObject({
    type: "fenced",
  });
  const found = await client.get(id);
  expect(found).toMatchObject({ status: "failed", error: { source: "internal" } });
  expect(found.output).toHaveLength(4);
});

test("a row has room for what is around the values of many events, and for the end of its run", async () => {
  const { client, begun } = await newWorld();
  const { id, channel } = await begun();
  const many = Array.from({ length: 3_000 }, () => 1);
  // Each event is smaller than a frame may be; the frame's limit counts neither the events of an end nor its
  // state.
  const events = [euros(500_000), ...many].map((data) => ({ event: "output", data }) as const);
  const error = {
    source: "external",
    message: "\u0001".repeat(10_000),
    detail: euros(16_000),
  } as const;
  await channel.report(events, { status: "failed", output: "items", error });
  expect(await client.get(id)).toMatchObject({ status: "failed" });
  expect(await largestRow(id)).toBeLessThan(1_600_000);
});

test("a reference to a stored value counts with all that it says", async () => {
  const { begun } = await newWorld();
  const { channel } = await begun();
  const data = { name: "a", size: 1, more: "x".repeat(590_000) };
  const events = [{ event: "stored" as const, data }];
  for (let seq = 2; seq < 33; seq++) await channel.exchange({ type: "events", seq, events });
  const last = await channel.exchange({ type: "events", seq: 33, events });
  expect(last).toMatchObject({ type: "fenced" });
});

test("an input up to 1 MiB comes with the job, a larger one does not", async () => {
  const { waiting, runner } = await newWorld();
  const one = await runner();
  await waiting({ text: "x".repeat(1_000_000) });
  const job = await one.take();
  expect(job.input?.text).toHaveLength(1_000_000);
  // A runner that has not connected to its last job gets no other one for 5 s.
  await one.connect(job);
  await waiting({ text: "x".repeat(1_050_000) });
  expect((await one.take()).input).toBeUndefined();
});
