/** Streams whose model says nothing for a while, read as the clients of each convention read them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { DECODERS, decodedBy } from "../../published/event-decoders.ts";
import { eventually } from "../support/eventually.ts";
import { storeFile } from "../support/files.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import type { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { ALL, finish, MESSAGES, newVendora, put } from "../support/vendora.ts";

beforeEach(() => {
  stopClock();
  timersFollowClock();
});
afterEach(startClock);

const SOUND = "speech.audio.delta";

const newSilent = () => newVendora({ compatibilities: { ...ALL, vendorb_messages: true } });

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

test.each<[string, (world: World) => Promise<Response>, Json | typeof picture]>([
  ["a prediction", posts("/v1/predictions", { input: {} }), "on"],
  ["a chat", posts("/v1/vendora/chat/completions", { messages: MESSAGES }), "on"],
  ["a completion", posts("/v1/vendora/completions", { prompt: "Go on" }), "on"],
  ["a response", posts("/v1/vendora/responses", { input: "Go on" }), "on"],
  ["a message", posts("/v1/vendorb/messages", message), "on"],
  ["speech", posts("/v1/vendora/audio/speech", speech), { type: SOUND, audio: "b24=" }],
  ["a transcription", transcribes, { type: "transcript.text.delta", delta: "on" }],
  ["images", posts("/v1/vendora/images/generations", { prompt: "Hills" }), picture],
])("%s that is silent for 20 s has no empty event for any client", async (_, ask, output) => {
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
});

/** A comment, or the convention's own event for this; a message has one at its beginning, too. */
const SIGN_OF_LIFE = /^: .*\n|"type":"ping".*"type":"ping"/ms;

/** Reads a stream while it comes. */
function reading({ body }: Response) {
  let text = "";
  const all = (async () => {
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece;
    return text;
  })();
  const until = (part: RegExp) => eventually(() => expect(text).toMatch(part));
  return { all, until };
}
