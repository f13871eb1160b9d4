/** Large predictions: the Worker reads them piece by piece, while others have their turn. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import type { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { SNAPSHOT_CHARS } from "../../../src/objects/stubs/prediction.ts";
import { eventually } from "../support/eventually.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { large, outputs } from "../support/large-prediction.ts";
import { objectOf } from "../support/objects.ts";
import { newWorld } from "../support/world.ts";

afterEach(() => void vi.restoreAllMocks());

/** A prediction that tests only read. */
const shared = await large();

test("a large prediction arrives whole, and each of its rows is only a part of a message", async () => {
  const { client, id } = shared;
  const stub = await objectOf(id);
  expect(await stub.get(SNAPSHOT_CHARS)).toMatchObject({ terminal: true, body: null });
  expect((await client.get(id)).output).toEqual(outputs);
});

test("the ETag of a large prediction stays the same while it does, and saves reading it", async () => {
  const { client, path, id } = shared;
  const first = await client.fetch(path);
  await first.body?.cancel();
  const etag = first.headers.get("etag") ?? expect.fail("it has no ETag");
  const again = await client.fetch(path, { headers: { "if-none-match": etag } });
  expect(again.status).toBe(304);
  await runInDurableObject(await objectOf(id), (object: PredictionObject) =>
    object.cancel("canceled"),
  );
  const same = await client.fetch(path, { headers: { "if-none-match": etag } });
  expect(same.status).toBe(304);
});

test("the ETag of a running prediction differs from that of its end", async () => {
  const { client, begun } = await newWorld();
  const { id, channel } = await begun();
  await channel.output("x".repeat(SNAPSHOT_CHARS));
  const etagOf = async () => {
    const response = await client.fetch(`/v1/predictions/${id}`);
    await response.body?.cancel();
    return response.headers.get("etag");
  };
  const running = await etagOf();
  expect(running).toMatch(/^W\/"/);
  await channel.report([], { status: "succeeded", output: "items" });
  expect(await etagOf()).not.toBe(running);
});

test("a call that waits for a large prediction returns all of it", async () => {
  const { client, model, runner } = await newWorld();
  const one = await runner();
  const answer = client.post("/v1/predictions", { model, input: {} }, { prefer: "wait" });
  const { channel } = await one.work();
  for (const output of outputs.slice(0, 3)) await channel.output(output);
  await channel.report([], { status: "succeeded", output: "items" });
  const response = await answer;
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ status: "succeeded", output: outputs.slice(0, 3) });
});

test("a read breaks off when the data is deleted meanwhile: half of it must not look complete", async () => {
  const { client, path } = await large();
  const { body } = await client.fetch(path);
  const reader = body?.getReader() ?? expect.fail("it has no body");
  await reader.read();
  expect((await client.json("DELETE", path)).status).toBe(200);
  const readOn = async () => {
    while (!(await reader.read()).done);
  };
  await expect(readOn()).rejects.toThrow();
});

test("other calls are answered while one reader is slow", async () => {
  const { client, path, id } = shared;
  const { body } = await client.fetch(path);
  const reader = body?.getReader() ?? expect.fail("it has no body");
  await reader.read();
  expect(await (await objectOf(id)).history()).toBeDefined();
  expect((await client.get(id)).output).toEqual(outputs);
  await reader.cancel();
});

/** Reads the first bytes and no more. */
async function readBeginning(response: Response) {
  expect(response.status).toBe(200);
  const reader = response.body?.getReader() ?? expect.fail("it has no body");
  await reader.read();
  return reader;
}

test("an account reads fifty at once, and one more after a reader left or took nothing for 60 s", async () => {
  const elapse = holdTimers(60_000);
  const { client, path, id } = shared;
  const open = async () => readBeginning(await client.fetch(path));
  const readers = [];
  for (let n = 0; n < 50; n++) readers.push(await open());
  const refused = await client.fetch(path);
  expect(refused.headers.get("retry-after")).toBe("15");
  expect(await refused.json()).toMatchObject({ status: 429, detail: expect.stringContaining(id) });
  await readers.shift()?.cancel();
  await eventually(async () => readers.push(await open()));
  await expect(open()).rejects.toThrow();
  elapse();
  await eventually(async () => readers.push(await open()));
  const [stalled] = readers;
  const readOn = async () => {
    while (!(await stalled?.read())?.done);
  };
  await expect(readOn()).rejects.toThrow();
  await Promise.allSettled(readers.map((reader) => reader.cancel()));
});
