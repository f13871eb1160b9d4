/** Streams end with the token, or the session, of whoever reads them. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { tokenPrefix } from "../../src/domain/secret.ts";
import { HEARTBEAT } from "../../src/domain/sse.ts";
import { endsWith } from "../../src/middleware/stream-end.ts";
import type { Client } from "./support/client.ts";
import { EventReader } from "./support/events.ts";
import { newPerson } from "./support/people.ts";
import { advance, startClock, stopClock } from "./support/time.ts";
import { chat, chunk, newVendora, put } from "./support/vendora.ts";
import { newClient, newWorld } from "./support/world.ts";

afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

describe("a stream that is looked at", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  });

  const encoder = new TextEncoder();

  /** What is written can be read, for as long as nobody says why not. */
  function watched() {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const end: { words?: string } = {};
    const check = vi.fn(async () => end.words);
    const reader = endsWith(readable, check).pipeThrough(new TextDecoderStream()).getReader();
    return {
      write: (text: string) => writer.write(encoder.encode(text)),
      writer,
      reader,
      end,
      check,
    };
  }

  test("is looked at by time, however much it says", async () => {
    const { write, reader, check } = watched();
    for (let n = 0; n < 100; n++) {
      const reading = reader.read();
      await write("data: 1\n\n");
      expect(await reading).toMatchObject({ value: "data: 1\n\n" });
    }
    expect(check).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(check).toHaveBeenCalledTimes(4);
  });

  test("ends while it says nothing, with the last words, and so does its source", async () => {
    const { writer, reader, end } = watched();
    const reading = reader.read();
    await vi.advanceTimersByTimeAsync(4_000);
    end.words = "event: problem\n\n";
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await reading).toMatchObject({ value: "event: problem\n\n" });
    expect(await reader.read()).toMatchObject({ done: true });
    await expect(writer.closed).rejects.toBeUndefined();
  });

  test("hands on no event that comes after a pause before it was looked at", async () => {
    const { write, reader, end } = watched();
    end.words = "event: problem\n\n";
    const reading = reader.read();
    vi.setSystemTime(Date.now() + 5_000);
    void write("data: 1\n\n").catch(() => {});
    expect(await reading).toMatchObject({ value: "event: problem\n\n" });
    expect(await reader.read()).toMatchObject({ done: true });
  });

  test("in the middle of an event ends without a word", async () => {
    const { write, reader, end } = watched();
    const reading = reader.read();
    await write("data: half");
    await reading;
    end.words = "event: problem\n\n";
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await reader.read()).toMatchObject({ done: true });
  });

  test("is not looked at once its reader has left, or it has ended", async () => {
    const [left, ended] = [watched(), watched()];
    await left.reader.cancel();
    const reading = ended.reader.read();
    await ended.writer.close();
    await reading;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(left.check).not.toHaveBeenCalled();
    expect(ended.check).not.toHaveBeenCalled();
  });
});

const revoke = (client: Client) =>
  env.DB.prepare("DELETE FROM tokens WHERE prefix = ?")
    .bind(tokenPrefix(client.token ?? ""))
    .run();

const PROBLEM = {
  event: "problem",
  data: {
    type: "urn:auspex:unauthenticated",
    title: "Authentication required",
    status: 401,
    detail: expect.stringMatching(/^The access token .* is unknown, expired or revoked/),
    request_id: expect.any(String),
  },
};

const output = (data: string) => ({ event: "output" as const, data });

/** The next event that is an output, or none of a prediction's own. */
async function heard(events: EventReader) {
  for (;;) {
    const event = await events.next();
    if (!event || ["output", "problem"].includes(event.event)) return event;
  }
}

describe("a prediction's", () => {
  beforeEach(stopClock);

  test("ends within 10 s of its token's, and goes on with another from where it was", async () => {
    const world = await newWorld();
    const reader = await newClient(world.username);
    const { id, channel } = await world.begun();
    const events = new EventReader((await reader.stream(id)).body);
    await channel.report([output("one")]);
    const seen = await heard(events);
    expect(seen).toMatchObject(output("one"));
    await revoke(reader);
    advance(9);
    await channel.report([output("two")]);
    expect(await heard(events)).toMatchObject(PROBLEM);
    expect(await events.next()).toBeUndefined();
    expect((await reader.stream(id)).status).toBe(401);
    const rest = new EventReader((await world.client.stream(id, `?after_id=${seen?.id}`)).body);
    expect(await heard(rest)).toMatchObject(output("two"));
    await rest.leave();
  });

  test("that its creation answered with ends when its token expires", async () => {
    const world = await newWorld();
    const expires_at = new Date(Date.now() + 6_000).toISOString();
    const client = await newClient(world.username, { expires_at });
    const body = { model: world.model, input: {}, stream: true };
    const events = new EventReader((await client.post("/v1/predictions", body)).body);
    expect(await events.next()).toMatchObject({ event: "status" });
    const { channel } = await (await world.runner()).work();
    advance(7);
    await channel.report([output("one")]);
    expect(await heard(events)).toMatchObject(PROBLEM);
    expect(await events.next()).toBeUndefined();
  });

  test("costs no query for its events, and goes on when nobody can tell", async () => {
    const world = await newWorld();
    const { id, channel } = await world.begun();
    const events = new EventReader((await world.client.stream(id)).body);
    await channel.report([output("first")]);
    await heard(events);
    const prepare = vi.spyOn(env.DB, "prepare").mockImplementation(() => {
      throw new Error("D1 is down");
    });
    for (let n = 0; n < 20; n++) {
      await channel.report([output(`${n}`)]);
      expect(await heard(events)).toMatchObject(output(`${n}`));
    }
    expect(prepare).not.toHaveBeenCalled();
    advance(20);
    await channel.report([output("later")]);
    expect(await heard(events)).toMatchObject(output("later"));
    expect(prepare).toHaveBeenCalled();
    await events.leave();
  });
});

test("a chat's ends with an error as its clients know them", async () => {
  stopClock();
  const { username, model, fleet } = await newVendora();
  const client = await newClient(username);
  const answering = chat(client, model, { stream: true });
  const { channel } = await fleet.work();
  await put(channel, chunk({ role: "assistant", content: "x" }));
  const reader = (await answering).body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain('"x"');
  await revoke(client);
  advance(9);
  await put(channel, chunk({ content: "y" }));
  let text = "";
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
    text += part.value.replaceAll(HEARTBEAT, "");
  expect(JSON.parse(text.replace(/^data: /, ""))).toEqual({
    error: expect.objectContaining({ code: "invalid_api_key" }),
  });
});

test("a page's ends with the session", async () => {
  stopClock();
  const { visitor, client, user_id } = await newPerson();
  const world = await newWorld({ visibility: "public" });
  const { id } = (await client.create({ model: world.model, input: {} })).body;
  const { channel } = await (await world.runner()).work();
  const answer = await visitor.fetch(`/predictions/${id}/events`, {
    headers: { accept: "text/event-stream" },
  });
  const events = new EventReader(answer.body);
  await channel.report([output("one")]);
  expect(await heard(events)).toMatchObject(output("one"));
  await env.DB.prepare("DELETE FROM sessions WHERE user_id = ?").bind(user_id).run();
  advance(9);
  await channel.report([output("two")]);
  expect(await heard(events)).toMatchObject({
    event: "problem",
    data: { detail: "You are not signed in any more." },
  });
  expect(await events.next()).toBeUndefined();
});
