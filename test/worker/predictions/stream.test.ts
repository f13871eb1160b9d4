/** GET /v1/predictions/{id}/stream: replay, resume, follow, end. */
import { evictDurableObject } from "cloudflare:test";
import { afterEach, expect, test } from "vitest";
import { EventReader, eventsOf, named } from "../support/events.ts";
import { objectOf } from "../support/objects.ts";
import { startClock, withoutTimers } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

afterEach(startClock);

async function begun() {
  const world = await newWorld();
  return { client: world.client, ...(await world.begun()) };
}

async function ended(...values: string[]) {
  const { channel, ...all } = await begun();
  for (const value of values) await channel.output(value);
  await channel.succeed();
  return all;
}

test("a stream has all events, numbered from 1 without a gap", async () => {
  const { client, id, channel } = await begun();
  await channel.report([
    { event: "logs", data: "line\n" },
    { event: "metrics", data: { output_tokens: 1 } },
  ]);
  await channel.output("a", "b");
  await channel.succeed("c");
  const response = await client.stream(id);
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": expect.stringMatching("text/event-stream"),
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  const events = await eventsOf(response);
  expect(events.map(({ event }) => event)).toEqual([
    "status",
    "status",
    "setup",
    "logs",
    "metrics",
    "output",
    "output",
    "output",
    "status",
    "done",
  ]);
  expect(events.map((event) => event.id)).toEqual(events.map((_, n) => n + 1));
  const done = events.at(-1)?.data;
  expect(done).toMatchObject({ id, status: "succeeded", metrics: { output_tokens: 1 } });
  expect(done).not.toHaveProperty("input");
  expect(done).not.toHaveProperty("output");
});

test("an EventSource can tell a failed prediction from a lost connection, also by `done`", async () => {
  const { client, id, channel } = await begun();
  const error = { source: "external" as const, message: "out of memory" };
  await channel.report([], { status: "failed", output: "none", error });
  const { body } = await client.stream(id);
  if (!body) throw new Error("no body");
  const source = EventSource.from(body);
  const errors: Event[] = [];
  source.addEventListener("error", (event) => void errors.push(event));
  const done = await new Promise<MessageEvent>((resolve) =>
    source.addEventListener("done", (event) => {
      source.close();
      if (event instanceof MessageEvent) resolve(event);
    }),
  );
  const [failure] = errors.filter((event) => event instanceof MessageEvent);
  expect(JSON.parse(failure?.data)).toMatchObject(error);
  expect(JSON.parse(done.data)).toMatchObject({ status: "failed", error });
});

test("a stream resumes after any event, each later one once: after_id and Last-Event-ID", async () => {
  const { client, id } = await ended("a", "b", "c", "d");
  const all = await eventsOf(client.stream(id));
  for (const { id: after } of all.slice(0, -1)) {
    expect(await eventsOf(client.stream(id, `?after_id=${after}`))).toEqual(all.slice(after));
    expect(await eventsOf(client.stream(id, "", { "last-event-id": `${after}` }))).toEqual(
      all.slice(after),
    );
  }
});

test("a stream resumes from within a frame of several events", async () => {
  const { client, id, channel } = await begun();
  await channel.report(["a", "b", "c"].map((data) => ({ event: "output" as const, data })));
  await channel.succeed();
  const [first] = (await eventsOf(client.stream(id))).filter(({ event }) => event === "output");
  expect(named(await eventsOf(client.stream(id, `?after_id=${first?.id}`)), "output")).toEqual([
    "b",
    "c",
  ]);
});

test("a Last-Event-ID has precedence over the address; a malformed one is ignored", async () => {
  const { client, id } = await ended("a", "b");
  const all = await eventsOf(client.stream(id));
  expect(await eventsOf(client.stream(id, "?after_id=1", { "last-event-id": "4" }))).toEqual(
    all.slice(4),
  );
  expect(await eventsOf(client.stream(id, "?after_id=3", { "last-event-id": "x" }))).toEqual(
    all.slice(3),
  );
  expect(await eventsOf(client.stream(id, "?after_id=0"))).toEqual(all);
});

test("a stream with an invalid or misspelled after_id is refused, and does not start from the beginning", async () => {
  const { client, id } = await ended("a");
  for (const [name, value] of [
    ["after_id", "x"],
    ["last_event_id", "2"],
    ["starting_after", "2"],
  ]) {
    const response = await client.stream(id, `?${name}=${value}`);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ detail: [{ loc: ["query", name] }] });
  }
});

test("a stream that is resumed after its end is a 204, so that an EventSource stops", async () => {
  const { client, id } = await ended("a");
  const last = (await eventsOf(client.stream(id))).at(-1)?.id ?? 0;
  for (const after of [last, last + 1, 999_999]) {
    const response = await client.stream(id, `?after_id=${after}`);
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
  }
});

test("a reader follows live, and the stream closes at the end", async () => {
  const { client, id, channel } = await begun();
  const reader = new EventReader((await client.stream(id)).body);
  await reader.take(3);
  await channel.output("a");
  expect(await reader.next()).toMatchObject({ id: 4, event: "output", data: "a" });
  await channel.output("b");
  expect(await reader.next()).toMatchObject({ id: 5, event: "output", data: "b" });
  await channel.succeed("c");
  expect((await reader.rest()).map(({ event }) => event)).toEqual(["output", "status", "done"]);
});

test("readers who come at different times read the same", async () => {
  const { client, id, channel } = await begun();
  const readers = [eventsOf(client.stream(id))];
  for (const value of ["a", "b", "c", "d", "e"]) {
    await channel.output(value);
    readers.push(eventsOf(client.stream(id)));
  }
  await channel.succeed();
  const [first, ...others] = await Promise.all(readers);
  expect(named(first ?? [], "output")).toEqual(["a", "b", "c", "d", "e"]);
  for (const other of others) expect(other).toEqual(first);
});

test("a reader who leaves stops nothing, and may come back", async () => {
  const { client, id, channel } = await begun();
  const reader = new EventReader((await client.stream(id)).body);
  const [, , third] = await reader.take(3);
  await reader.leave();
  await channel.output("a");
  await channel.output("b");
  const back = eventsOf(client.stream(id, `?after_id=${third?.id}`));
  await channel.succeed();
  expect(named(await back, "output")).toEqual(["a", "b"]);
  expect(await client.status(id)).toBe("succeeded");
});

test("a stream waits for an ID that does not exist yet, and repeats nothing before it", async () => {
  const { client, id, channel } = await begun();
  const reading = eventsOf(client.stream(id, "?after_id=5"));
  await channel.output("4");
  await channel.output("5");
  await channel.output("6");
  await channel.succeed();
  expect(named(await reading, "output")).toEqual(["6"]);
});

test("a stream's idle limit is that of Prefer: wait, up to an hour, and is confirmed", async () => {
  const { client, id } = await ended("a");
  const applied = async (prefer: string) => {
    const response = await client.stream(id, "", { prefer });
    await response.text();
    return response.headers.get("preference-applied");
  };
  expect(await applied("wait=20")).toBe("wait=20");
  expect(await applied("wait=99999")).toBe("wait=3600");
  expect(await applied("wait=20, cancel")).toBe("wait=20");
  expect(await applied("wait")).toBe("wait=60");
  expect(await applied("respond-async")).toBeNull();
});

test("an idle stream is closed, and the prediction goes on", async () => {
  const { client, id, channel } = await begun();
  const events = await eventsOf(client.stream(id, "", { prefer: "wait=0" }));
  expect(events.map(({ event }) => event)).toEqual(["status", "status", "setup"]);
  await channel.succeed("a");
  expect(await client.status(id)).toBe("succeeded");
});

test("a log outlives its object's memory", async () => {
  const { client, id, channel } = await withoutTimers(begun);
  await channel.output("a");
  await evictDurableObject(await objectOf(id), { webSockets: "hibernate" });
  const reading = eventsOf(client.stream(id));
  await channel.succeed("b");
  expect(named(await reading, "output")).toEqual(["a", "b"]);
});
