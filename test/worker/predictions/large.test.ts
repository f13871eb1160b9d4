/** Large values that objects store themselves: they come back unchanged, and no row is as large as 2 MB. */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, test } from "vitest";
import { sized } from "../../support/sized.ts";
import { eventsOf, named } from "../support/events.ts";
import { logRowsOf, objectOf } from "../support/objects.ts";
import { newWorld } from "../support/world.ts";

/** Returns an upper bound of the largest row in bytes: two per character. */
const largestRow = async (id: string) =>
  Math.max(...(await logRowsOf(await objectOf(id))).map((body) => 2 * body.length));

/** Text in which every character is costly: two, three and four bytes, escapes, surrogate pairs. */
const awkward = (length: number) =>
  '€😀"\\é\n\u2028'.repeat(Math.ceil(length / 9)).slice(0, length);

test("an input nested as deep as the limit is accepted and returned unchanged", async () => {
  const { client, model } = await newWorld();
  const input = `{"a":${"[".repeat(126)}${"]".repeat(126)}}`;
  const created = await client.post("/v1/predictions", `{"model":"${model}","input":${input}}`);
  expect(created.status).toBe(202);
  await created.text();
  const found = await client.fetch(created.headers.get("location") ?? "");
  expect((await found.text()).includes(`"input":${input}`)).toBe(true);
});

test.each(sized([100_001], [1_000, 100_001, 299_000]))(
  "awkward text of %i characters is never torn",
  async (length) => {
    const { client, model, runner } = await newWorld();
    const text = awkward(length);
    const { body } = await client.create({ model, input: { text } });
    const one = await runner();
    const { channel } = await one.work();
    await channel.output(text);
    await channel.output("small");
    await channel.succeed(text);
    const found = await client.get(body.id);
    expect(found.input).toEqual({ text });
    expect(found.output).toEqual([text, "small", text]);
    expect(named(await eventsOf(client.stream(body.id)), "output")).toEqual([text, "small", text]);
    expect(await largestRow(body.id)).toBeLessThan(2_000_000);
  },
);

test("the detail of an error and the metrics stay within what a row can hold", async () => {
  const { client, begun } = await newWorld();
  const { id, channel } = await begun();
  const error = {
    source: "external",
    message: "boom",
    detail: "z".repeat(3 * 1024 * 1024),
  } as const;
  await channel.report([], { status: "failed", output: "none", error });
  expect(await client.get(id)).toMatchObject({ status: "failed", error: { message: "boom" } });
  expect(await largestRow(id)).toBeLessThan(2_000_000);
});

test("large metrics are kept once, however often one of them changes", async () => {
  const { client, begun } = await newWorld();
  const { id, channel } = await begun();
  const names = Array.from({ length: 100 }, (_, n) => `${n}`.padEnd(100, "m"));
  const metrics = Object.fromEntries(names.map((name) => [name, 0]));
  await channel.report([{ event: "metrics", data: metrics }]);
  const [name = ""] = names;
  for (let n = 1; n <= 20; n++) await channel.report([{ event: "metrics", data: { [name]: n } }]);
  const object = await objectOf(id);
  const rows = await logRowsOf(object);
  expect(rows.reduce((units, body) => units + body.length, 0)).toBeLessThan(50_000);
  await abortAllDurableObjects();
  expect((await client.get(id)).metrics).toEqual({ ...metrics, [name]: 20 });
});

test("a log of many small frames is replayed whole", async () => {
  const { client, begun } = await newWorld();
  const { id, channel } = await begun();
  const frame = Array.from({ length: 500 }, (_, n) => `token ${n}`);
  for (let times = 0; times < 5; times++) await channel.output(...frame);
  await channel.succeed();
  const values = named(await eventsOf(client.stream(id)), "output");
  expect(values).toHaveLength(2_500);
  expect(values.slice(2_000)).toEqual(frame);
});
