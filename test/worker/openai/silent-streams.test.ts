/** Streams of models that are silent for a while, read as the clients of each convention read them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { sized } from "../../support/sized.ts";
import { eventually } from "../support/eventually.ts";
import { storeFile } from "../support/files.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { ALL, finish, MESSAGES, newOpenAi, put } from "../support/openai.ts";
import { eventsOf as checked } from "../support/openai-responses.ts";
import type { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

interface DecodedEvent {
  event: string;
  data: string;
}

interface Fields {
  event: string;
  data: string[];
  id: string;
  hasRetry: boolean;
}

/** Whether a blank line dispatches an event. */
const RULES = {
  /**
   * anthropic-python and httpx-sse have this rule, too: an id is never forgotten, so every later blank line
   * is an event.
   */
  "openai-python": ({ event, data, id, hasRetry }: Fields) =>
    event !== "" || data.length > 0 || id !== "" || hasRetry,
  /** `openai` and `@anthropic-ai/sdk` have this rule. */
  "the JS SDKs": ({ event, data }: Fields) => event !== "" || data.length > 0,
  /** Browsers have this rule, and eventsource-parser, which the AI SDK uses. */
  EventSource: ({ data }: Fields) => data.length > 0,
};

const DECODERS = Object.keys(RULES);

/** @param name one of DECODERS */
function decodedBy(name: string, text: string): DecodedEvent[] {
  const isDispatched = Object.entries(RULES).find(([one]) => one === name)?.[1];
  if (!isDispatched) throw new Error(`There is no decoder '${name}'.`);
  const events: DecodedEvent[] = [];
  let fields: Fields = { event: "", data: [], id: "", hasRetry: false };
  for (const line of text.split(/\r\n|\r|\n/).slice(0, -1)) {
    if (line === "") {
      if (isDispatched(fields)) events.push({ event: fields.event, data: fields.data.join("\n") });
      fields = { event: "", data: [], id: fields.id, hasRetry: false };
      continue;
    }
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name === "event") fields.event = value;
    if (name === "data") fields.data.push(value);
    if (name === "id") fields.id = value;
    if (name === "retry") fields.hasRetry = true;
  }
  return events;
}

beforeEach(() => {
  stopClock();
  timersFollowClock();
});

afterEach(startClock);

const SOUND = "speech.audio.delta";

const newSilent = () => newOpenAi({ compatibilities: { ...ALL, vendorb_messages: true } });

type World = Awaited<ReturnType<typeof newSilent>>;

const posts =
  (path: string, body: object) =>
  ({ client, model }: World) =>
    client.post(path, { model, stream: true, ...body });

function transcribes({ client, model }: World): Promise<Response> {
  const body = new FormData();
  body.append("file", new File(["sound"], "a.wav", { type: "audio/wav" }));
  for (const [name, value] of Object.entries({ model, stream: "true" })) body.append(name, value);
  return client.fetch("/v1/vendora/audio/transcriptions", { method: "POST", body });
}

const speech = { input: "Go on", voice: "low", stream_format: "sse" };
const message = { max_tokens: 9, messages: MESSAGES };

async function picture(fleet: FakeRunner, job: Job): Promise<Json> {
  return { type: "image_generation.completed", url: await storeFile(fleet, job, "1") };
}

const SILENT: [string, (world: World) => Promise<Response>, Json | typeof picture][] = [
  ["a prediction", posts("/v1/predictions", { input: {} }), "on"],
  ["a chat", posts("/v1/vendora/chat/completions", { messages: MESSAGES }), "on"],
  ["a message", posts("/v1/vendorb/messages", message), "on"],
  ["a completion", posts("/v1/vendora/completions", { prompt: "Go on" }), "on"],
  ["a response", posts("/v1/vendora/responses", { input: "Go on" }), "on"],
  ["speech", posts("/v1/vendora/audio/speech", speech), { type: SOUND, audio: "b24=" }],
  ["a transcription", transcribes, { type: "transcript.text.delta", delta: "on" }],
  ["images", posts("/v1/vendora/images/generations", { prompt: "Hills", n: 2 }), picture],
];
test.each(SILENT.slice(0, sized(3, SILENT.length)))(
  "%s that is silent for 20 s has no empty event for any client",
  async (_, ask, output) => {
    const world = await newSilent();
    const asked = ask(world);
    const { job, channel } = await world.fleet.work();
    const value = typeof output === "function" ? await output(world.fleet, job) : output;
    await put(channel, value);
    const stream = reading(await asked);
    await stream.until(/^data: /m);
    advance(20);
    await stream.until(SIGN_OF_LIFE);
    await finish(channel, [value]);
    const text = await stream.all;
    const events = decodedBy("EventSource", text);
    expect(events.length).toBeGreaterThan(1);
    for (const decoder of DECODERS) expect(decodedBy(decoder, text)).toEqual(events);
  },
);

describe("a response that is silent", () => {
  const begin = async (more: object = {}) => {
    const world = await newSilent();
    const asked = posts("/v1/vendora/responses", { input: "Go on", ...more })(world);
    const { channel } = await world.fleet.work();
    await put(channel, "on");
    const stream = reading(await asked);
    await stream.until(/output_text\.delta/);
    return { ...world, channel, stream };
  };

  /** Lets a minute pass. Logs keep the lease meanwhile, and are no events of a response. */
  const aMinute = async ({ channel, stream }: Awaited<ReturnType<typeof begin>>) => {
    for (let beat = 1; beat <= 4; beat++) {
      await channel.report([{ event: "logs", data: "loading\n" }]);
      advance(15);
      await stream.until(new RegExp(`(?:^: keep-alive$.*?|${REPEAT}.*?){${beat}}`, "ms"));
    }
    await finish(channel, [" and on"]);
    return stream.all;
  };
  const REPEAT = "(?<!^id: \\d+\\n)event: response\\.in_progress$";

  test("a silent response repeats response.in_progress every 30 s, outside the log", async () => {
    const begun = await begin();
    const text = await aMinute(begun);
    expect(text.match(new RegExp(REPEAT, "gm"))).toHaveLength(2);
    const headers = { "content-type": "text/event-stream; charset=utf-8" };
    const events = await checked(new Response(text, { headers }));
    const { sequence_number: last } = events.find(({ type }) => type.endsWith("delta")) ?? {};
    const repeats = events.filter(({ type }) => type === "response.in_progress").slice(1);
    expect(repeats).toMatchObject(
      Array(2).fill({
        sequence_number: last,
        response: { output: [{ content: [{ text: "on" }] }] },
      }),
    );
    const { id } = events[0]?.response ?? {};
    const replay = await checked(
      await begun.client.fetch(`/v1/vendora/responses/${id}?stream=true`),
    );
    expect(replay).toEqual(events.filter((event) => !repeats.includes(event)));
  });

  test("a silent response sends comments in place of a resource over 256 KiB", async () => {
    const text = await aMinute(await begin({ instructions: "x".repeat(300_000) }));
    expect(text.match(/^: keep-alive$/gm)).toHaveLength(4);
    expect(text.match(/^event: response\.in_progress$/gm)).toHaveLength(1);
  });

  test("a response that waits in the background repeats response.queued", async () => {
    const world = await newSilent();
    const ask = posts("/v1/vendora/responses", { input: "Go on", background: true });
    const stream = reading(await ask(world));
    await stream.until(/response\.queued/);
    advance(15);
    await stream.until(/^: /m);
    advance(15);
    await stream.until(
      /^: .*\nevent: response\.queued\n.*"sequence_number":1,.*"status":"queued"/m,
    );
    await stream.leave();
  });
});

test("a silent message sends pings, also before it begins", async () => {
  const world = await newSilent();
  const asked = posts("/v1/vendorb/messages", message)(world);
  const { channel } = await world.fleet.work();
  advance(15);
  const stream = reading(await asked);
  await stream.until(/^event: ping$/m);
  await channel.report([{ event: "logs", data: "loading\n" }]);
  await finish(channel, ["on"]);
  const events = (await stream.all).match(/^event: .*$/gm);
  expect(events?.slice(0, 2)).toEqual(["event: ping", "event: message_start"]);
});

/** Matches a comment or a second ping. The first ping is part of each message's beginning. */
const SIGN_OF_LIFE = /^: .*\n|"type":"ping".*"type":"ping"/ms;

/** Reads a stream while it arrives. */
function reading({ body }: Response) {
  let text = "";
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const all = (async () => {
    for (let piece = await reader?.read(); piece?.value; piece = await reader?.read())
      text += piece.value;
    return text;
  })();
  const until = (part: RegExp) => eventually(() => expect(text).toMatch(part));
  return { all, until, leave: () => reader?.cancel() };
}
