/** Large output values: they are in R2, and readers see no difference. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { predictionWithIO } from "../../../src/protocol/prediction.ts";
import { EventReader, eventsOf, named } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { beginRunnerUpload, keysBelow, MIB, postValue, storeValue } from "../support/files.ts";
import { objectOf, rowOf } from "../support/objects.ts";
import { newWorld } from "../support/world.ts";

afterEach(() => vi.restoreAllMocks());

/** JSON text of about `bytes` bytes in which every character is costly. */
const awkward = (bytes: number) => '\u20ac\u{1f600}"\\\u00e9\n\u2028'.repeat(Math.ceil(bytes / 18));

/** A large text inside structures, as models make them. */
const nested = { list: [1, null, { text: awkward(300_000) }], 'a"b': true };

async function world() {
  const made = await newWorld();
  return { ...made, ...(await made.begun()) };
}

describe("an output value", () => {
  test("a stored value is one event for live and late readers, among small ones", async () => {
    const { client, id, runner, job, channel } = await world();
    const live = eventsOf(client.stream(id));
    const [first, second] = [awkward(300_000), nested];
    await channel.output("a");
    await channel.report([
      { event: "output", data: "b" },
      await storeValue(runner, job, first),
      { event: "logs", data: "log" },
      await storeValue(runner, job, second),
      await storeValue(runner, job, first),
      { event: "output", data: "c" },
    ]);
    await channel.report([await storeValue(runner, job, "small")]);
    await channel.succeed("d");
    const expected = ["a", "b", first, second, first, "c", "small", "d"];
    const events = await live;
    expect(named(events, "output")).toEqual(expected);
    expect(events.map(({ id: number }) => number)).toEqual(events.map((_, n) => n + 1));
    expect(await eventsOf(client.stream(id))).toEqual(events);
    expect((await client.get(id)).output).toEqual(expected);
  });

  test("a stored value is found by readers who resume before it, at it and after it", async () => {
    const { client, id, runner, job, channel } = await world();
    const [one, two] = [
      await storeValue(runner, job, awkward(30_000)),
      await storeValue(runner, job, { list: [null, awkward(30_000)] }),
    ];
    await channel.report([
      { event: "output", data: "x" },
      one,
      two,
      { event: "output", data: "y" },
    ]);
    await channel.succeed("z");
    const all = await eventsOf(client.stream(id));
    for (const { id: after } of all.slice(0, -1)) {
      expect(await eventsOf(client.stream(id, `?after_id=${after}`))).toEqual(all.slice(after));
      const headers = { "last-event-id": String(after) };
      expect(await eventsOf(client.stream(id, "", headers))).toEqual(all.slice(after));
    }
    expect((await client.stream(id, `?after_id=${all.length}`)).status).toBe(204);
  });

  test("a stored value can be the whole output, and the last of several counts", async () => {
    const { client, id, runner, job, channel } = await world();
    await channel.report([await storeValue(runner, job, "first")]);
    await channel.report([await storeValue(runner, job, nested)], {
      status: "succeeded",
      output: "value",
    });
    expect((await client.get(id)).output).toEqual(nested);
  });

  test("a stored value of 2 MB arrives whole for a slow reader, and for one who comes at the end", async () => {
    const { client, id, runner, job, channel } = await world();
    const value = "z".repeat(2 * MIB);
    await channel.report([await storeValue(runner, job, value)]);
    const slow = new EventReader((await client.stream(id)).body);
    expect((await slow.take(2)).map(({ event }) => event)).toEqual(["status", "status"]);
    await channel.output("after");
    await channel.succeed();
    for (const reader of [slow, new EventReader((await client.stream(id)).body)]) {
      const outputs = named(await reader.rest(), "output");
      expect(outputs).toHaveLength(2);
      expect(outputs[0] === value).toBe(true);
    }
  });

  test("a stored value leaves the object small", async () => {
    const { id, runner, job, channel } = await world();
    for (let times = 0; times < 3; times++) {
      await channel.report([await storeValue(runner, job, "x".repeat(300_000))]);
    }
    await channel.succeed();
    const size = await runInDurableObject(
      await objectOf(id),
      (_, ctx) => ctx.storage.sql.databaseSize,
    );
    expect(size).toBeLessThan(100_000);
    expect(await keysBelow(id)).toHaveLength(3);
  });

  test("a stored value counts toward the 16 MB of an output", async () => {
    const { client, id, runner, job, channel } = await world();
    const stored = (size: number) => ({ event: "stored" as const, data: { name: "x", size } });
    const { data } = await storeValue(runner, job, "x".repeat(MIB));
    await channel.report(Array.from({ length: 15 }, () => ({ event: "stored" as const, data })));
    expect(await client.status(id)).toBe("started");
    channel.send({ type: "events", seq: 3, events: [stored(3 * MIB)] });
    expect(await channel.next()).toMatchObject({ type: "fenced" });
    // The prediction itself would be read with its 15 MB.
    await eventually(async () =>
      expect(await rowOf(id)).toMatchObject({
        status: "failed",
        error: expect.stringContaining("more than a prediction may have"),
      }),
    );
  });

  test("a stored value larger than a whole output is refused before its bytes are read", async () => {
    const { id, runner, job } = await world();
    const { readable, writable } = new FixedLengthStream(16 * MIB + 1);
    const answer = postValue(runner, job, readable);
    expect((await answer).status).toBe(413);
    await writable.abort("not wanted").catch(() => {});
    expect((await postValue(runner, job, "1")).status).toBe(200);
    expect(await keysBelow(id)).toHaveLength(1);
  });

  test("a stored value without a length, or cut off midway, is refused", async () => {
    const { id, runner, job } = await world();
    const endless = new Response("[1]").body?.pipeThrough(new TransformStream());
    expect((await postValue(runner, job, endless ?? "")).status).toBe(400);
    const { readable, writable } = new FixedLengthStream(300_000);
    const answer = postValue(runner, job, readable).then(
      ({ status }) => status,
      () => 503,
    );
    const writer = writable.getWriter();
    await writer.write(new TextEncoder().encode(`"${"x".repeat(100_000)}`));
    await writer.abort("the line is cut");
    expect(await answer).toBe(503);
    expect(await keysBelow(id)).toEqual([]);
  });
});

describe("a value that is gone from R2", () => {
  async function withLoss() {
    const made = await world();
    const { id, runner, job, channel } = made;
    await channel.report([{ event: "output", data: "a" }, await storeValue(runner, job, nested)]);
    await channel.succeed("b");
    await env.FILES.delete(await keysBelow(`${id}/values`));
    return made;
  }

  test("a lost value breaks the stream off before it, and its readers can tell", async () => {
    const { client, id } = await withLoss();
    const reader = new EventReader((await client.stream(id)).body);
    const seen: unknown[] = [];
    const reading = (async () => {
      for (let event = await reader.next(); event; event = await reader.next())
        seen.push(event.data);
    })();
    await expect(reading).rejects.toThrow();
    expect(seen).toContain("a");
    expect(seen).not.toContain("b");
  });

  test("a lost value breaks the answer off: it is no JSON that looks complete", async () => {
    const { client, id } = await withLoss();
    const response = await client.fetch(`/v1/predictions/${id}`);
    await expect(response.text()).rejects.toThrow();
  });
});

describe("a prediction with large values", () => {
  async function large() {
    const made = await newWorld();
    const { client, model, runner } = made;
    const input = { text: awkward(1_200_000) };
    const { body } = await client.create({ model, input });
    const one = await runner();
    const { job, channel } = await one.work();
    return { ...made, id: body.id, input, runner: one, job, channel };
  }

  test("a prediction with large values is answered at once, as JSON, with an ETag that changes with it", async () => {
    const { client, id, input, runner, job, channel } = await large();
    const path = `/v1/predictions/${id}`;
    const read = (headers = {}) => client.fetch(path, { headers });
    const before = await read();
    expect(before.headers.get("content-type")).toContain("application/json");
    expect(predictionWithIO.parse(await before.json())).toMatchObject({ input, output: null });
    const tag = before.headers.get("etag") ?? "";
    expect(tag).toMatch(/^W\/"[^"]+"$/);
    const again = await read({ "if-none-match": tag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    await channel.report([await storeValue(runner, job, nested)], {
      status: "succeeded",
      output: "value",
    });
    const after = await read({ "if-none-match": tag });
    expect(after.status).toBe(200);
    expect(await after.json()).toMatchObject({ status: "succeeded", input, output: nested });
    const last = after.headers.get("etag") ?? "";
    expect(last).not.toBe(tag);
    expect((await read({ "if-none-match": last })).status).toBe(304);
    const head = await client.fetch(path, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("a prediction that a caller waits for returns its large input and output", async () => {
    const { client, model, runner } = await newWorld();
    const input = { text: "i".repeat(MIB + 1) };
    const waiting = client.create({ model, input }, { prefer: "wait=30" });
    const one = await runner();
    const { job, channel } = await one.work();
    await channel.report([await storeValue(one, job, nested)], {
      status: "succeeded",
      output: "value",
    });
    const { status, body } = await waiting;
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "succeeded", input, output: nested });
  });
});

describe("a name in a frame", () => {
  test("a name in a frame gives no access to values of others", async () => {
    const owner = await world();
    const secret = await storeValue(owner.runner, owner.job, "secret");
    const { id, client, channel, runner, job } = await world();
    await beginRunnerUpload(runner, job, 1);
    const forged = (name: string) => ({
      type: "events",
      seq: 2,
      events: [{ event: "stored", data: { name, size: 8 } }],
    });
    await channel.report([{ event: "stored", data: secret.data }]);
    await channel.succeed();
    expect(await client.get(id)).toMatchObject({ status: "failed", output: [null] });
    for (const name of [
      `../../${owner.id}/values/${secret.data.name}`,
      `..%2F${secret.data.name}`,
      "a/b",
      "",
      ".",
      "x".repeat(65),
    ]) {
      const another = await world();
      another.channel.send(forged(name));
      expect((await another.channel.closed).code).toBe(4400);
    }
  });
});

test("a run that ends with a value which it has not stored fails, and the rest can be read", async () => {
  const world = await newWorld();
  const { id, channel } = await world.begun();
  const never = { event: "stored" as const, data: { name: crypto.randomUUID(), size: 10 } };
  await channel.report([{ event: "output", data: "a" }, never]);
  await channel.succeed("b");
  const { status, error, output } = await world.client.get(id);
  expect({ status, output }).toEqual({ status: "failed", output: ["a", null, "b"] });
  expect(error).toMatchObject({ source: "internal", message: expect.stringContaining("stored") });
});

test("a run that names far more values than it has stored fails with the frame that does", async () => {
  const world = await newWorld();
  const { id, channel } = await world.begun();
  const names = Array.from({ length: 101 }, () => crypto.randomUUID());
  const events = names.map((name) => ({ event: "stored", data: { name, size: 10 } }));
  await channel.report([{ event: "output", data: "a" }]);
  channel.send({ type: "events", seq: 2, events });
  await channel.closed;
  const { status, output, error } = await world.client.get(id);
  expect({ status, output }).toEqual({ status: "failed", output: ["a"] });
  expect(error?.message).toContain("not stored");
});
