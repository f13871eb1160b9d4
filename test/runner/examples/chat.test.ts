// The example language models as real processes: chat completions over HTTP, and the same by Cog.

import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  expectChatChunk,
  expectChatCompletion,
  expectErrorBody,
} from "../../published/validate.ts";
import {
  type Example,
  examplesFolder,
  launchExample,
  type State,
  startExample,
  until,
} from "../support/example.ts";

const PATH = "/v1/chat/completions";
const question = (content: string) => [{ role: "user", content }];
const key = {
  model: "scribe",
  messages: question("Where is the golden key?"),
  delay_ms: 0,
  seed: 1,
};

interface Call {
  id: string;
  function: { name: string; arguments: string };
}
interface Likely {
  token: string;
  logprob: number;
  bytes: number[];
}
interface Choice {
  index: number;
  message: { content: string | null; tool_calls?: Call[] };
  logprobs: { content: (Likely & { top_logprobs: Likely[] })[] } | null;
  finish_reason: string;
}
interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}
interface Completion {
  choices: [Choice, ...Choice[]];
  usage: Usage;
}
interface Delta {
  role?: string;
  content?: string | null;
  tool_calls?: [{ index: number; id?: string; function: { name?: string; arguments: string } }];
}
interface Chunk {
  id: string;
  choices: { index: number; delta: Delta; finish_reason: string | null }[];
  usage?: Usage | null;
}

let scribe: Example;
beforeAll(async () => {
  scribe = await startExample(join(examplesFolder, "scribe"));
});
afterAll(() => scribe.stop());

async function chat(body: object): Promise<Completion> {
  const answer = await scribe.send<Completion>("POST", PATH, { ...key, ...body });
  expect(answer.status).toBe(200);
  expectChatCompletion(answer.body);
  return answer.body;
}

const say = async (body: object) => (await chat(body)).choices[0].message.content ?? "";

function open(body: object, signal?: AbortSignal): Promise<Response> {
  const text = JSON.stringify({ ...key, stream: true, ...body });
  return fetch(scribe.url + PATH, { method: "POST", body: text, signal: signal ?? null });
}

/** The chunks of a stream, and nothing after its end mark. */
async function stream(body: object): Promise<Chunk[]> {
  const response = await open(body);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const events: string[] = [];
  const text = response.body?.pipeThrough(new TextDecoderStream());
  for await (const event of text?.pipeThrough(new EventSourceParserStream()) ?? []) {
    expect(event.event).toBeUndefined();
    events.push(event.data);
  }
  expect(events.pop()).toBe("[DONE]");
  const chunks = events.map((event) => JSON.parse(event));
  for (const chunk of chunks) expectChatChunk(chunk);
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  return chunks;
}

async function running(): Promise<number> {
  const metrics = await (await fetch(`${scribe.url}/metrics`)).text();
  return Number(/^llamacpp:requests_processing (\d+)$/m.exec(metrics)?.[1]);
}

async function refused(status: number, param: string | null, code: string | null, body: object) {
  const answer = await scribe.send<{ error: object }>("POST", PATH, { ...key, ...body });
  expectErrorBody(answer.body);
  expect(answer).toMatchObject({ status, body: { error: { param, code } } });
}

describe("what it says", () => {
  it("has to do with what it is asked", async () => {
    const expected: [string, RegExp][] = [
      ["Tell me about cats and mice.", /\b(?:cats?|mouse|mice)\b/i],
      ["What is in the bottle?", /\b(?:bottle|drink)\b/i],
      ["Where is the golden key?", /\b(?:key|door)\b/i],
      ["What is the time, Hatter?", /\b(?:time|hatter|watch|clock)\b/i],
    ];
    const answers = (asked: string) =>
      Promise.all(
        Array.from({ length: 10 }, (_, seed) => say({ messages: question(asked), seed })),
      );
    const others = await answers("zxqj");
    for (const [asked, words] of expected) {
      const said = (texts: string[]) => texts.filter((text) => words.test(text)).length;
      expect(said(await answers(asked))).toBeGreaterThanOrEqual(8);
      expect(said(others)).toBeLessThan(8);
    }
  });

  it("takes up what a tool has answered", async () => {
    const messages = [
      ...question("What is the weather?"),
      { role: "assistant", content: null, tool_calls: [] },
      { role: "tool", tool_call_id: "1", content: "It is 21 degrees and sunny in Paris." },
    ];
    expect(await say({ messages })).toMatch(/Paris|sunny/);
  });

  it("is the same for the same seed, and ends by itself or at the limit", async () => {
    const whole = await chat({});
    expect(await chat({})).toMatchObject({ choices: whole.choices });
    expect(whole.choices[0].finish_reason).toBe("stop");
    expect(await say({ temperature: 1, seed: 2 })).not.toBe(await say({ temperature: 1 }));
    expect(await say({ temperature: 0, seed: 2 })).toBe(await say({ temperature: 0 }));
    expect(await say({ temperature: 2, top_p: 0 })).toBe(await say({ temperature: 0 }));
    expect(await say({ temperature: 1, top_p: 0.5 })).not.toBe(await say({ temperature: 1 }));
    for (const limit of ["max_tokens", "max_completion_tokens"]) {
      const cut = await chat({ [limit]: 5 });
      expect(cut.choices[0].finish_reason).toBe("length");
      expect(cut.usage).toEqual({ prompt_tokens: 6, completion_tokens: 5, total_tokens: 11 });
      expect(whole.choices[0].message.content).toContain(cut.choices[0].message.content);
    }
  });

  it("ends before a stop text, also where tokens share it, and before the first of several", async () => {
    const whole = await say({});
    const stop = whole.slice(21, 29);
    const wanted = whole.slice(0, whole.indexOf(stop));
    for (const stops of [stop, [stop, "never in Alice"], [whole.slice(40, 60), stop]]) {
      const { choices } = await chat({ stop: stops });
      expect(choices[0]).toMatchObject({ message: { content: wanted }, finish_reason: "stop" });
      const chunks = await stream({ stop: stops });
      expect(chunks.map(({ choices: [one] }) => one?.delta.content ?? "").join("")).toBe(wanted);
    }
    expect(await say({ stop: "never in Alice" })).toBe(whole);
  });

  it("comes in several choices, of which the first is that of one alone", async () => {
    const { choices, usage } = await chat({ n: 3, temperature: 1 });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(new Set(choices.map(({ message }) => message.content)).size).toBe(3);
    const [alone, second] = [
      await chat({ temperature: 1 }),
      await chat({ temperature: 1, seed: 2 }),
    ];
    expect(choices[0]).toEqual(alone.choices[0]);
    expect(choices[1]?.message).toEqual(second.choices[0].message);
    expect(usage.completion_tokens).toBeGreaterThan(alone.usage.completion_tokens);
  });

  it("has real log probabilities", async () => {
    const { choices } = await chat({ logprobs: true, top_logprobs: 20, temperature: 0 });
    const [{ message, logprobs }] = choices;
    const tokens = logprobs?.content ?? [];
    expect(tokens.map(({ token }) => token).join("")).toBe(message.content);
    for (const { token, logprob, bytes, top_logprobs } of tokens) {
      expect(Buffer.from(bytes).toString()).toBe(token);
      const [best] = top_logprobs;
      expect(best).toMatchObject({ token, logprob });
      const odds = top_logprobs.map((one) => Math.exp(one.logprob));
      expect(odds).toEqual(odds.toSorted((one, other) => other - one));
      expect(odds.reduce((sum, odd) => sum + odd)).toBeLessThanOrEqual(1);
      expect(odds).toHaveLength(20);
    }
    expect((await chat({})).choices[0].logprobs).toBeNull();
  });
});

describe("a stream", () => {
  it("says what the whole answer says", async () => {
    const asked = { n: 2, temperature: 1, logprobs: true };
    const chunks = await stream({ ...asked, stream_options: { include_usage: true } });
    const { choices, usage } = await chat(asked);
    expect(chunks.pop()).toMatchObject({ choices: [], usage });
    expect(chunks.every((chunk) => chunk.usage === null)).toBe(true);
    for (const { index, message, finish_reason } of choices) {
      const own = chunks.flatMap((chunk) => chunk.choices.filter((one) => one.index === index));
      expect(own[0]?.delta).toEqual({ role: "assistant", content: "" });
      expect(own.map(({ delta }) => delta.content ?? "").join("")).toBe(message.content);
      const reasons = own.map((one) => one.finish_reason).filter((reason) => reason !== null);
      expect(reasons).toEqual([finish_reason]);
      expect(own.at(-1)?.delta).toEqual({});
    }
    expect((await stream({})).every((chunk) => !("usage" in chunk))).toBe(true);
  });

  it("stops its work when the client hangs up, and so does a whole answer", async () => {
    const long = { max_tokens: 1000, delay_ms: 1000 };
    const leaving = new AbortController();
    const streamed = await open(long, leaving.signal);
    const plain = open({ ...long, stream: false }, leaving.signal).catch(() => "left");
    await until(async () => (await running()) === 2);
    leaving.abort();
    await until(async () => (await running()) === 0);
    expect(await plain).toBe("left");
    await expect(streamed.text()).rejects.toThrow();
  });

  it("is one of many at a time", async () => {
    const alone = await say({ delay_ms: 5 });
    const together = Array.from({ length: 32 }, () => stream({ delay_ms: 5 }));
    await until(async () => (await running()) === 32);
    for (const chunks of await Promise.all(together)) {
      expect(chunks.map(({ choices: [one] }) => one?.delta.content ?? "").join("")).toBe(alone);
    }
    expect(await running()).toBe(0);
  });
});

describe("a tool", () => {
  const parameters = {
    type: "object",
    properties: {
      city: { type: "string" },
      day: { type: "integer", minimum: 1, maximum: 31 },
      unit: { enum: ["celsius", "fahrenheit"] },
      exact: { type: "boolean" },
      hours: { type: "array", items: { type: "number" } },
    },
    required: ["city"],
  };
  const named = (name: string) => ({ type: "function", function: { name, parameters } });
  const tools = [named("stock_price"), named("get_weather")];
  const asked = {
    messages: question("What is the weather in New York on the 77th, in Fahrenheit?"),
    tools,
  };
  const wanted = { city: "New York", day: 31, unit: "fahrenheit", exact: true, hours: [77] };

  it("is called when the request insists, with arguments that fit its schema", async () => {
    for (const [tool_choice, name] of [
      ["required", "get_weather"],
      [{ type: "function", function: { name: "stock_price" } }, "stock_price"],
    ]) {
      const { choices } = await chat({ ...asked, tool_choice });
      const [{ message, finish_reason }] = choices;
      expect(finish_reason).toBe("tool_calls");
      expect(message.content).toBeNull();
      expect(message.tool_calls?.map((call) => call.function.name)).toEqual([name]);
      expect(JSON.parse(message.tool_calls?.[0]?.function.arguments ?? "")).toEqual(wanted);
    }
  });

  it("is called in pieces in a stream", async () => {
    const chunks = await stream({ ...asked, tool_choice: "required" });
    const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(calls[0]).toMatchObject({
      index: 0,
      id: expect.stringMatching(/^call_/),
      type: "function",
      function: { name: "get_weather", arguments: "" },
    });
    const pieces = calls.map((call) => call.function.arguments);
    expect(pieces.length).toBeGreaterThan(10);
    expect(JSON.parse(pieces.join(""))).toEqual(wanted);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("tool_calls");
  });

  it("is left alone otherwise", async () => {
    for (const tool_choice of [undefined, "auto", "none"]) {
      const { choices } = await chat({ ...asked, tool_choice });
      expect(choices[0].message.tool_calls).toBeUndefined();
      expect(choices[0].message.content).not.toBe("");
    }
  });
});

describe("what it refuses", () => {
  it("has its own words in the convention", async () => {
    await refused(400, null, null, { model: undefined });
    await refused(404, "model", "model_not_found", { model: "other" });
    await refused(400, "messages", "missing_required_parameter", { messages: null });
    await refused(400, "messages", "empty_array", { messages: [] });
    await refused(400, "messages[0].role", "invalid_value", { messages: [{ role: "x" }] });
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    const at = "messages[0].content[0].type";
    await refused(400, at, "invalid_value", { messages: [{ role: "user", content: [image] }] });
    await refused(400, "temperature", "decimal_above_max_value", { temperature: 2.1 });
    await refused(400, "temperature", "invalid_type", { temperature: "hot" });
    await refused(400, "max_tokens", "integer_below_min_value", { max_tokens: 0 });
    await refused(400, "max_tokens", "invalid_type", { max_tokens: 1.5 });
    await refused(400, "n", "integer_above_max_value", { n: 17 });
    await refused(400, "top_logprobs", "invalid_value", { top_logprobs: 1 });
    await refused(400, "stop", "array_above_max_length", { stop: ["a", "b", "c", "d", "e"] });
    await refused(400, "stop[0]", "string_below_min_length", { stop: "" });
    await refused(400, "tool_choice", null, { tool_choice: "required" });
    const json = { response_format: { type: "json_object" }, stream: true };
    await refused(400, "response_format.type", "invalid_value", json);
  });

  it("includes what it does not serve", async () => {
    const { status, body } = await scribe.send("POST", "/v1/responses", key);
    expect(status).toBe(404);
    expectErrorBody(body);
    expect((await scribe.get(PATH)).status).toBe(405);
    expect((await scribe.send("POST", PATH, "[]")).status).toBe(400);
    expect((await scribe.send("POST", PATH, "{")).status).toBe(400);
  });

  it("takes null for nothing", async () => {
    const none = { temperature: null, top_p: null, stop: null, n: null, max_tokens: null };
    expect(await say({ ...none, tools: null, stream_options: null })).toBe(await say({}));
  });
});

it("says which model it is", async () => {
  const { body } = await scribe.get<{ data: object[] }>("/v1/models");
  expect(body).toMatchObject({ object: "list", data: [{ id: "scribe", object: "model" }] });
  expect((await scribe.get("/v1/models/scribe")).body).toEqual(body.data[0]);
});

it("is not ready while it loads, and ends on SIGTERM", async () => {
  const folder = await mkdtemp(join(tmpdir(), "auspex-example-"));
  await cp(join(examplesFolder, "scribe"), folder, { recursive: true });
  await writeFile(
    join(folder, "model.mjs"),
    `import { once } from "node:events";
     import manifest from "./auspex.json" with { type: "json" };
     import { serve } from "./vendora.mjs";
     serve(manifest, {
       load: () => once(process, "SIGUSR2"),
       calls: { "${PATH}": () => ({}) },
     });`,
  );
  const example = await launchExample(folder);
  for (const answer of [await example.get("/health"), await example.send("POST", PATH, key)]) {
    expect(answer.status).toBe(503);
    expectErrorBody(answer.body);
  }
  example.kill("SIGUSR2");
  await until(async () => (await example.get("/health")).status === 200);
  example.kill("SIGTERM");
  expect(await example.exited).toBe(0);
  await rm(folder, { recursive: true });
});

describe("behind the Cog interface", () => {
  let cog: Example;
  beforeAll(async () => {
    cog = await startExample(join(examplesFolder, "scribe-cog"));
  });
  afterAll(() => cog.stop());

  const predict = (input: object) => cog.send<State>("POST", "/predictions", { input });

  it("is the same model", async () => {
    const asked = { messages: key.messages, seed: 1, delay_ms: 0 };
    for (const more of [{}, { max_tokens: 7 }, { stop: ["the"] }, { temperature: 1, top_p: 0.9 }]) {
      const { body } = await predict({ ...asked, ...more });
      const { choices, usage } = await chat(more);
      expect((body.output as string[]).join("")).toBe(choices[0].message.content);
      expect(body.metrics).toMatchObject({
        input_tokens: usage.prompt_tokens,
        output_tokens: usage.completion_tokens,
      });
    }
  });

  it("takes what clients of the convention send", async () => {
    const parts = [{ type: "text", text: "Where is the golden key?" }];
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: parts },
    ];
    const nulls = { temperature: null, top_p: null, stop: null, max_tokens: null, seed: 1 };
    const { body } = await predict({ messages, ...nulls, delay_ms: 0, model: "x", stream: true });
    expect((body.output as string[]).join("")).toBe(await say({}));
    expect((await predict({ messages: [] })).status).toBe(422);
    expect((await predict({ messages, temperature: 3 })).status).toBe(422);
  });
});
