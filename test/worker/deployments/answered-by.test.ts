/** Streams of OpenAI's and Anthropic's clients say which version of a deployment has answered. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { newDeployment } from "../support/deployments.ts";
import { storeFile } from "../support/files.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { ALL, finish, MESSAGES, newOpenAi, put } from "../support/openai.ts";
import { lineOf } from "../support/pool.ts";
import { newRemoteWorld, streamOf } from "../support/remote.ts";
import type { FakeRunner } from "../support/runner.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";

beforeEach(() => {
  stopClock();
  timersFollowClock();
});
afterEach(startClock);

const HEADER = "x-auspex-answered-by";
const COMMENT = /^: x-auspex-answered-by: (.*)\n(?!\n)/m;
/** The longest that a stream waits for its first output before it begins. */
const HOLD_SECONDS = 15;

async function newDeployed(fallbacks: Json[] = []) {
  const world = await newOpenAi({ compatibilities: { ...ALL, vendorb_messages: true } });
  const { name } = await newDeployment(world.client, { model: world.model, fallbacks });
  return { ...world, model: `${world.username}/${name}`, answerer: `${world.model}:1` };
}

type World = Awaited<ReturnType<typeof newDeployed>>;
type Ask = (world: Pick<World, "client" | "model">) => Promise<Response>;

const posts =
  (path: string, body: object): Ask =>
  ({ client, model }) =>
    client.post(path, { model, stream: true, ...body });

const chats = posts("/v1/vendora/chat/completions", { messages: MESSAGES });
const speech = { input: "Go on", voice: "low" };
const sound = { type: "speech.audio.delta", audio: "b24=" };

function transcribes({ client, model }: Pick<World, "client" | "model">): Promise<Response> {
  const body = new FormData();
  body.append("file", new File(["sound"], "a.wav", { type: "audio/wav" }));
  for (const [name, value] of Object.entries({ model, stream: "true" })) body.append(name, value);
  return client.fetch("/v1/vendora/audio/transcriptions", { method: "POST", body });
}

async function picture(fleet: FakeRunner, job: Job): Promise<Json> {
  return { type: "image_generation.completed", url: await storeFile(fleet, job, "1") };
}

const STREAMS: [string, Ask, Json | typeof picture][] = [
  ["a chat", chats, "on"],
  ["a completion", posts("/v1/vendora/completions", { prompt: "Go on" }), "on"],
  ["a response", posts("/v1/vendora/responses", { input: "Go on" }), "on"],
  ["a message", posts("/v1/vendorb/messages", { max_tokens: 9, messages: MESSAGES }), "on"],
  ["speech", posts("/v1/vendora/audio/speech", { ...speech, stream_format: "sse" }), sound],
  ["a transcription", transcribes, { type: "transcript.text.delta", delta: "on" }],
  ["an image", posts("/v1/vendora/images/generations", { prompt: "Hills" }), picture],
];

test.each(STREAMS)("the stream of %s names who answers in a header", async (_, ask, output) => {
  const world = await newDeployed();
  const asked = ask(world);
  const { job, channel } = await world.fleet.work();
  const value = typeof output === "function" ? await output(world.fleet, job) : output;
  await put(channel, value);
  const answer = await asked;
  expect(answer.headers.get(HEADER)).toBe(world.answerer);
  await finish(channel, [value]);
  await answer.text();
});

test.each(STREAMS)(
  "the stream of %s that begins late names who answers in a comment",
  async (_, ask, output) => {
    const world = await newDeployed();
    const asked = ask(world);
    const { job, channel } = await world.fleet.work();
    const value = typeof output === "function" ? await output(world.fleet, job) : output;
    advance(HOLD_SECONDS);
    const answer = await asked;
    expect(answer.headers.get(HEADER)).toBeNull();
    await finish(channel, [value]);
    expect(COMMENT.exec(await answer.text())?.[1]).toBe(world.answerer);
  },
);

test("sound as bytes has a header however late it comes", async () => {
  const world = await newDeployed();
  const asked = posts("/v1/vendora/audio/speech", speech)(world);
  const { channel } = await world.fleet.work();
  advance(HOLD_SECONDS);
  await finish(channel, [sound]);
  const answer = await asked;
  expect(answer.headers.get(HEADER)).toBe(world.answerer);
  await answer.text();
});

test("the stream of a model that was named itself does not say who answers", async () => {
  const world = await newOpenAi();
  const asked = chats(world);
  const { channel } = await world.fleet.work();
  await finish(channel, ["on"]);
  const answer = await asked;
  expect(answer.headers.get(HEADER)).toBeNull();
  expect(await answer.text()).not.toMatch(COMMENT);
});

test("a stream that a fallback answers names the fallback", async () => {
  const far = await newRemoteWorld({ compatibilities: { vendora_chat_completions: true } });
  await far.answers(streamOf("The ", "Hatter"));
  const world = await newDeployed([{ model: far.model, after_seconds: 20 }]);
  const asked = chats(world);
  await lineOf(world, 1);
  const { items } = await world.client.ok<{ items: { id: string }[] }>("GET", "/v1/predictions");
  const [{ id } = { id: "" }] = items;
  await passes(HOLD_SECONDS, id);
  const answer = await asked;
  await passes(6, id);
  await passes(1, id);
  expect(COMMENT.exec(await answer.text())?.[1]).toBe(`${far.model}:1`);
});
