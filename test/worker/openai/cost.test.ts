/** The cost of calls: a header of whole answers, and a part of the usage that no container can change. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { usageOf } from "../../../src/domain/openai/image-answer.ts";
import { TranscriptStream } from "../../../src/domain/openai/transcript.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import { ask, eventsOf } from "../support/anthropic.ts";
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

  test("embeddings have their cost in a header", async () => {
    const asked = client.post("/v1/vendora/embeddings", { model, input: "one" });
    const [response] = await Promise.all([asked, answer([[0.5, -0.25]])]);
    expect(headerOf(response)).toBe("0.00025");
  });

  test("a ranking has its cost in a header, and not its container's", async () => {
    const asked = client.post("/v1/vendora/rerank", { model, query: "tea", documents: ["a"] });
    const ranked = { results: [{ index: 0, relevance_score: 0.5 }], usage };
    const [response] = await Promise.all([asked, answer(ranked)]);
    expect(headerOf(response)).toBe("0.00025");
    expect(await response.json()).not.toHaveProperty("usage.cost");
  });

  test("neither pictures nor transcripts pass the cost of their container on", () => {
    const counted = { input_tokens: 1, output_tokens: 2, cost: 3, cost_details: {} };
    expect(usageOf(counted)).toMatchObject({ cost: undefined, cost_details: undefined });
    const data = { type: "transcript.text.done", text: "on", usage: counted };
    const [event] = new TranscriptStream().take({ event: "output", data });
    expect(JSON.stringify(event)).not.toContain("cost");
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

  test("a message has its cost in the usage of its last delta", async () => {
    const [response] = await Promise.all([ask(client, model, { stream: true }), answer(...CHUNKS)]);
    const events = await eventsOf(response);
    expect(events.at(-2)).toMatchObject({ type: "message_delta", usage: { cost: COST } });
    expect(events[0]).not.toHaveProperty("message.usage.cost");
  });
});
