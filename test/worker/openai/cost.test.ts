/** The cost of calls: a header of whole answers, and a part of the usage that no container can change. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import { ask, eventsOf } from "../support/anthropic.ts";
import { EventReader } from "../support/events.ts";
import { storeFile } from "../support/files.ts";
import { chat, chunk, completion, dataOf, failed, newOpenAi } from "../support/openai.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { operator } from "../support/world.ts";

const { client, model, fleet, hardware } = await newOpenAi();
await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, {
  name: hardware,
  price_per_hour: "1.8",
});

beforeEach(stopClock);
afterEach(startClock);

const BILLABLE = { billable: { run_seconds: 0.5, setup_seconds: 0 } };
const COST = 0.00025;

/** A usage of a container that names a cost of its own. */
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0 };

/** Answers the next call with these outputs, half a second later. */
async function answer(...values: Json[]): Promise<void> {
  const { channel } = await fleet.work();
  advance(0.5);
  const events: ReportedEvent[] = values.map((data) => ({ event: "output", data }));
  const output = values.length === 1 ? "value" : "items";
  await channel.report(events, { status: "succeeded", output, ...BILLABLE });
}

const WHOLE = { ...Object(completion("on")), usage };
const TOKENS = { input_tokens: 1, output_tokens: 2 };
const PICTURE = { url: "https://images.invalid/1.png" };
const CHUNKS = [chunk({ role: "assistant", content: "on" }, "stop"), { choices: [], usage }];

const headerOf = ({ headers }: Response) => headers.get("x-auspex-cost");

describe("a call that waits for its end", () => {
  test.each([
    ["a chat", () => chat(client, model)],
    ["a response", () => client.post("/v1/vendora/responses", { model, input: "Go on" })],
    ["a message", () => ask(client, model)],
  ])("%s has its cost in a header and in its usage", async (_, call) => {
    const [response] = await Promise.all([call(), answer(WHOLE)]);
    expect(headerOf(response)).toBe("0.00025");
    expect(response.headers.get("access-control-expose-headers")).toContain("x-auspex-cost");
    expect(await response.json()).toMatchObject({ usage: { cost: COST } });
  });

  test.each<[string, string, object, Json]>([
    ["embeddings", "embeddings", { input: "one" }, { embeddings: [[0.5, -0.25]], usage }],
    ["a moderation", "moderations", { input: "one" }, { results: [{ flagged: false }], usage }],
    [
      "a ranking",
      "rerank",
      { query: "tea", documents: ["a"] },
      { results: [{ index: 0, relevance_score: 0.5 }], usage },
    ],
    [
      "pictures",
      "images/generations",
      { prompt: "Hills" },
      { data: [PICTURE], usage: { ...TOKENS, cost: 0 } },
    ],
    [
      "a transcript",
      "audio/transcriptions",
      { file: "https://example.com/a.wav" },
      { text: "on", usage: { type: "duration", seconds: 2, cost: 0 } },
    ],
  ])("%s has its cost in a header and in its usage", async (_, path, body, output) => {
    const asked = client.post(`/v1/vendora/${path}`, { model, ...body });
    const [response] = await Promise.all([asked, answer(output)]);
    expect(headerOf(response)).toBe("0.00025");
    expect(await response.json()).toMatchObject({ usage: { cost: COST } });
  });

  test("a call that the model fails has the cost of its time in a header", async () => {
    const asked = chat(client, model);
    const { channel } = await fleet.work();
    advance(0.5);
    await channel.report([], { ...failed("external", "boom"), ...BILLABLE });
    const response = await asked;
    expect([response.status, headerOf(response)]).toEqual([502, "0.00025"]);
  });

  test("an error of the service costs nothing, and a call that is refused has no cost", async () => {
    const asked = chat(client, model);
    const { channel } = await fleet.work();
    await channel.report([], { ...failed("internal", "The disk is full."), ...BILLABLE });
    expect(headerOf(await asked)).toBe("0");
    const refused = await chat(client, "nobody/nothing");
    expect([refused.status, headerOf(refused)]).toEqual([404, null]);
  });
});

describe("a stream", () => {
  test("a chat has its cost in the usage that it asks for, and only there", async () => {
    const asked = { stream: true, stream_options: { include_usage: true } };
    const [response] = await Promise.all([chat(client, model, asked), answer(...CHUNKS)]);
    expect(headerOf(response)).toBeNull();
    const data = await dataOf(response);
    expect(data.at(-2)).toMatchObject({ choices: [], usage: { ...usage, cost: COST } });
    const [plain] = await Promise.all([chat(client, model, { stream: true }), answer(...CHUNKS)]);
    expect(await plain.text()).not.toContain("cost");
  });

  test("a response has its cost in its last event, and when it is read again", async () => {
    const asked = client.post("/v1/vendora/responses", { model, input: "Go on", stream: true });
    const [response] = await Promise.all([asked, answer(...CHUNKS)]);
    const data = await dataOf(response);
    expect(data.at(-1)).toMatchObject({
      type: "response.completed",
      response: { usage: { cost: COST } },
    });
    const { id } = Object(data[0]).response;
    expect(await client.ok("GET", `/v1/vendora/responses/${id}`)).toMatchObject({
      usage: { cost: COST },
    });
  });

  test("the last of the pictures that were asked for has the cost, and the others come at once", async () => {
    const asked = { model, prompt: "Hills", n: 2, stream: true };
    const asking = client.post("/v1/vendora/images/generations", asked);
    const { job, channel } = await fleet.work();
    const url = await storeFile(fleet, job, "1");
    const data = { type: "image_generation.completed", url, usage: { ...TOKENS, cost: 3 } };
    await channel.report([{ event: "output", data }]);
    const response = await asking;
    const reader = new EventReader(response.body);
    const first = await reader.next();
    expect(first).toMatchObject({ data: { usage: TOKENS } });
    expect(first).not.toHaveProperty("data.usage.cost");
    advance(0.5);
    const partial = { type: "image_generation.partial_image", url };
    const events = [partial, data].map((data) => ({ event: "output" as const, data }));
    await channel.report(events, { status: "succeeded", output: "items", ...BILLABLE });
    expect(await reader.rest()).toMatchObject([
      { event: "image_generation.partial_image" },
      { data: { usage: { ...TOKENS, cost: COST } } },
    ]);
  });

  test("a message has its cost in the usage of its last delta", async () => {
    const [response] = await Promise.all([ask(client, model, { stream: true }), answer(...CHUNKS)]);
    const events = await eventsOf(response);
    expect(events.at(-2)).toMatchObject({ type: "message_delta", usage: { cost: COST } });
    expect(events[0]).not.toHaveProperty("message.usage.cost");
  });
});
