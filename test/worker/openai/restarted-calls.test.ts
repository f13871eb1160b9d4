/** Calls during a restart of the control plane: which runs are canceled when their caller does not return. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { objectOf, specOf } from "../support/objects.ts";
import { chat, finish, MESSAGES, newest, newOpenAi, put } from "../support/openai.ts";
import type { Channel } from "../support/runner.ts";
import { passes, startClock, stopClock } from "../support/time.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const { client, model, fleet } = await newOpenAi();

/** Begins a call. Returns the function that cuts its connection. */
type Begin = () => Promise<() => void>;

const posted =
  (path: string, body: object, { token } = client, more: Record<string, string> = {}): Begin =>
  async () => {
    const leaving = new AbortController();
    const asked = new Client(token).fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...more },
      body: JSON.stringify({ model, ...body }),
      signal: leaving.signal,
    });
    asked.catch(() => {});
    return () => leaving.abort();
  };

const CHAT = "/v1/vendora/chat/completions";
const RESPONSES = "/v1/vendora/responses";
const ASKED = { messages: MESSAGES };

const overSocket: Begin = async () => {
  const { webSocket } = await client.fetch(RESPONSES, { headers: { upgrade: "websocket" } });
  if (!webSocket) throw new Error("no socket");
  webSocket.accept();
  webSocket.send(JSON.stringify({ type: "response.create", model, input: "Go on" }));
  return () => webSocket.close();
};

/** Restarts during a call. The runner connects again afterwards, the caller does not. */
async function cutOff(begin: Begin): Promise<{ id: string; channel: Channel }> {
  const cut = await begin();
  const { job } = await fleet.work();
  const restarting = abortAllDurableObjects();
  cut();
  await restarting;
  return { id: job.prediction_id, channel: await fleet.connect(job) };
}

const canceled: [string, Begin][] = [
  ["a plain chat", posted(CHAT, ASKED)],
  ["a streamed chat", posted(CHAT, { ...ASKED, stream: true })],
  ["a response", posted(RESPONSES, { input: "Go on" })],
  ["a response over a WebSocket", overSocket],
  ["a message", posted("/v1/vendorb/messages", { ...ASKED, max_tokens: 9 })],
];

test.each(canceled)("%s whose connection a restart has cut is canceled", async (_, begin) => {
  const { id, channel } = await cutOff(begin);
  await passes(11, id);
  expect(await channel.next()).toEqual({ type: "cancel", reason: "its caller has disconnected" });
  await channel.report([], { status: "canceled", output: "none" });
  expect(await client.status(id)).toBe("canceled");
});

const runsOn: [string, Begin][] = [
  ["a chat with an Idempotency-Key", posted(CHAT, ASKED, client, { "idempotency-key": "once" })],
  ["a response in the background", posted(RESPONSES, { input: "Go on", background: true })],
  [
    "a streamed response in the background",
    posted(RESPONSES, { input: "Go on", background: true, stream: true }),
  ],
  [
    "a prediction that is waited for",
    posted("/v1/predictions", { input: ASKED }, client, { prefer: "wait=60" }),
  ],
  ["a streamed prediction", posted("/v1/predictions", { input: ASKED, stream: true })],
];

test.each(runsOn)("%s runs on when a restart has cut its connection", async (_, begin) => {
  const { id, channel } = await cutOff(begin);
  await passes(11, id);
  await finish(channel, ["on"]);
  expect(await client.status(id)).toBe("succeeded");
});

test("a call that no runner has taken is canceled when its connection was cut", async () => {
  const other = await newOpenAi();
  const cut = await posted(CHAT, { ...ASKED, model: other.model }, other.client)();
  const id = await eventually(() => newest(other.client));
  const restarting = abortAllDurableObjects();
  cut();
  await restarting;
  // The prediction object wakes when its dispatch is due again.
  await passes(31, id);
  await passes(11, id);
  expect(await other.client.status(id)).toBe("canceled");
});

test("a call whose Worker resumes its stream after a restart runs on until its caller leaves", async () => {
  const asked = chat(client, model, { stream: true });
  const { job, channel } = await fleet.work();
  await put(channel, "before");
  const reader = (await asked).body?.pipeThrough(new TextDecoderStream()).getReader();
  const reads = async (word: string) => {
    let text = "";
    while (!text.includes(word)) text += (await reader?.read())?.value ?? "";
  };
  await reads("before");
  await abortAllDurableObjects();
  const again = await fleet.connect(job);
  await put(again, "after");
  await reads("after");
  await passes(11, job.prediction_id);
  await put(again, "later");
  await reads("later");
  await reader?.cancel();
  expect(await again.next()).toMatchObject({ type: "cancel" });
  await again.report([], { status: "canceled", output: "none" });
});

test("a call whose first object dies before it begins is canceled when its caller leaves", async () => {
  vi.spyOn(PredictionObject.prototype, "fetch").mockRejectedValueOnce(new Error("It was reset."));
  const leave = await posted(CHAT, ASKED)();
  const { job, channel } = await fleet.work();
  leave();
  expect(await channel.next()).toMatchObject({ type: "cancel" });
  await channel.report([], { status: "canceled", output: "none" });
  expect((await specOf(await objectOf(job.prediction_id))).object_number).toBe(2);
});
