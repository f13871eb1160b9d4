/** Ends of streams with the token, or the session, of their reader. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CHECK_MS } from "../../../src/domain/accounts/access.ts";
import { tokenPrefix } from "../../../src/domain/accounts/token.ts";
import { HEARTBEAT } from "../../../src/lib/sse.ts";
import { endStreamWhen } from "../../../src/middleware/concurrent-requests.ts";
import type { Client } from "../support/client.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { EventReader } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { chat, chunk, newOpenAi, put } from "../support/openai.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newWorld } from "../support/world.ts";

afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

/** Stops the clock and the interval of the checks until `pass` moves them. */
const stopAll = () => vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000);

describe("a stream that is checked", () => {
  beforeEach(() => void stopAll());

  const encoder = new TextEncoder();

  /** A stream whose source can be read until `check` returns a reason to end it. */
  function watched() {
    const source = new TransformStream<Uint8Array, Uint8Array>();
    const writer = source.writable.getWriter();
    const stream = {
      body: source.readable,
      over: writer.closed.catch(() => {}),
      async end(words: string) {
        await writer.write(encoder.encode(words));
        await writer.close();
      },
    };
    const end: { words?: string } = {};
    const check = vi.fn(async () => end.words);
    endStreamWhen(stream, check);
    return {
      write: (text: string) => writer.write(encoder.encode(text)),
      writer,
      reader: stream.body.pipeThrough(new TextDecoderStream()).getReader(),
      end,
      check,
    };
  }

  test("checks follow the time, however much the stream sends", async () => {
    const { write, writer, reader, check } = watched();
    for (let n = 0; n < 100; n++) {
      const reading = reader.read();
      await write("data: 1\n\n");
      expect(await reading).toMatchObject({ value: "data: 1\n\n" });
    }
    expect(check).not.toHaveBeenCalled();
    await pass(20);
    expect(check).toHaveBeenCalledTimes(4);
    await writer.close();
    expect(await reader.read()).toMatchObject({ done: true });
  });

  test("a silent stream ends with the last words of its source", async () => {
    const { reader, end, check } = watched();
    const reading = reader.read();
    await pass(4);
    end.words = "event: problem\n\n";
    await pass(1);
    expect(await reading).toMatchObject({ value: "event: problem\n\n" });
    expect(await reader.read()).toMatchObject({ done: true });
    await pass(60);
    expect(check).toHaveBeenCalledOnce();
  });

  test("no check follows after the reader left or the stream ended", async () => {
    const [left, ended] = [watched(), watched()];
    await left.reader.cancel();
    const reading = ended.reader.read();
    await ended.writer.close();
    await reading;
    // The stream notices that its reader left when it writes.
    await left.write(": still here\n\n").catch(() => {});
    await pass(60);
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

/** @returns a function that moves the clock and lets the object check its readers */
function holdChecks() {
  stopClock();
  const check = holdTimers(CHECK_MS);
  const passes = (seconds: number) => {
    advance(seconds);
    check();
  };
  return Object.assign(passes, { held: check.count });
}

/** Returns the next event that is an output or a problem, or none at the end. */
async function heard(events: EventReader) {
  for (;;) {
    const event = await events.next();
    if (!event || ["output", "problem"].includes(event.event)) return event;
  }
}

describe("a stream of a prediction", () => {
  test("a stream ends within 10 s of its token's end, and another token resumes it where it was", async () => {
    const passes = holdChecks();
    const world = await newWorld();
    const reader = await newClient(world.username);
    const { id, channel } = await world.begun();
    const events = new EventReader((await reader.stream(id)).body);
    await channel.report([output("one")]);
    const seen = await heard(events);
    expect(seen).toMatchObject(output("one"));
    await revoke(reader);
    passes(CHECK_MS / 1_000);
    expect(await heard(events)).toMatchObject(PROBLEM);
    expect(await events.next()).toBeUndefined();
    advance(5);
    expect((await reader.stream(id)).status).toBe(401);
    await channel.report([output("two")]);
    const rest = new EventReader((await world.client.stream(id, `?after_id=${seen?.id}`)).body);
    expect(await heard(rest)).toMatchObject(output("two"));
    await rest.leave();
  });

  test("streams of one token are checked once, and another token's stream goes on", async () => {
    const passes = holdChecks();
    const world = await newWorld();
    const [first, second] = [await newClient(world.username), await newClient(world.username)];
    const { id, channel } = await world.begun();
    const open = async (client: Client) => new EventReader((await client.stream(id)).body);
    const ending = [await open(first), await open(first), await open(first)];
    const staying = await open(second);
    await channel.report([output("one")]);
    for (const events of [...ending, staying])
      expect(await heard(events)).toMatchObject(output("one"));
    const prepare = vi.spyOn(env.DB, "prepare");
    const checks = () =>
      prepare.mock.calls.filter(([query]) => /select .* from "tokens"/is.test(query)).length;
    const held = passes.held();
    passes(5);
    await eventually(async () => expect(checks()).toBe(2));
    // D1 answers in order: both checks have read their tokens once this is answered.
    await env.DB.exec("SELECT 1");
    await revoke(first);
    // A check that has not set its next timer would miss the time that passes.
    await eventually(() => expect(passes.held()).toBe(held));
    passes(5);
    for (const events of ending) {
      expect(await heard(events)).toMatchObject(PROBLEM);
      expect(await events.next()).toBeUndefined();
    }
    await eventually(async () => expect(checks()).toBe(4));
    await channel.report([output("two")]);
    expect(await heard(staying)).toMatchObject(output("two"));
    await staying.leave();
  });

  test("a stream that answers a create ends when its token expires", async () => {
    const passes = holdChecks();
    const world = await newWorld();
    const expires_at = new Date(Date.now() + 6_000).toISOString();
    const client = await newClient(world.username, { expires_at });
    const body = { model: world.model, input: {}, stream: true };
    const events = new EventReader((await client.post("/v1/predictions", body)).body);
    expect(await events.next()).toMatchObject({ event: "status" });
    passes(10);
    expect(await heard(events)).toMatchObject(PROBLEM);
    expect(await events.next()).toBeUndefined();
  });

  test("a stream costs no query for its events, and goes on while D1 is down", async () => {
    const passes = holdChecks();
    const world = await newWorld();
    const { id, channel } = await world.begun();
    const events = new EventReader((await world.client.stream(id)).body);
    await channel.report([output("first")]);
    await heard(events);
    const prepare = vi.spyOn(env.DB, "prepare").mockImplementation(() => {
      throw new Error("D1 is down");
    });
    for (let n = 0; n < 20; n++) {
      channel.push([output(`${n}`)]);
      expect(await heard(events)).toMatchObject(output(`${n}`));
    }
    // Rows of earlier predictions may still be on their way.
    expect(prepare.mock.calls.filter(([query]) => /^select/i.test(query))).toEqual([]);
    passes(20);
    await eventually(async () => expect(prepare).toHaveBeenCalled());
    await channel.report([output("later")]);
    expect(await heard(events)).toMatchObject(output("later"));
    await events.leave();
  });
});

test("a stream of a chat ends with an error in the format of its clients", async () => {
  stopAll();
  const { username, model, fleet } = await newOpenAi();
  const client = await newClient(username);
  const answering = chat(client, model, { stream: true });
  const { channel } = await fleet.work();
  await put(channel, chunk({ role: "assistant", content: "x" }));
  const reader = (await answering).body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain('"x"');
  await revoke(client);
  await pass(9);
  await put(channel, chunk({ content: "y" }));
  let text = "";
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
    text += part.value.replaceAll(HEARTBEAT, "");
  expect(JSON.parse(text.replace(/^data: /, ""))).toEqual({
    error: expect.objectContaining({ code: "invalid_api_key" }),
  });
});

test("a stream of a page ends with the session", async () => {
  const passes = holdChecks();
  const { visitor, client, user_id } = await newDashboardUser();
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
  passes(5);
  expect(await heard(events)).toMatchObject({
    event: "problem",
    data: { detail: "You are logged out." },
  });
  expect(await events.next()).toBeUndefined();
});
