/** The chat API of the example language model: streams, tools, errors and readiness. */
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectErrorBody } from "../../published/validate.ts";
import { sized } from "../../support/sized.ts";
import { CHAT, key, question, type Scribe, startScribe } from "../support/chat.ts";
import { examplesFolder, launchExample, until } from "../support/example.ts";

let scribe: Scribe;
beforeAll(async () => {
  scribe = await startScribe();
});
afterAll(() => scribe.stop());

async function refused(status: number, param: string | null, code: string | null, body: object) {
  const answer = await scribe.send<{ error: object }>("POST", CHAT, { ...key, ...body });
  expectErrorBody(answer.body);
  expect(answer).toMatchObject({ status, body: { error: { param, code } } });
}

describe("a stream", () => {
  it("a stream has the same text as the whole answer", async () => {
    const asked = { n: 2, temperature: 1, logprobs: true };
    const chunks = await scribe.stream({ ...asked, stream_options: { include_usage: true } });
    const { choices, usage } = await scribe.chat(asked);
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
    expect((await scribe.stream({})).every((chunk) => !("usage" in chunk))).toBe(true);
  });

  it("a stream stops its work when the client hangs up, and so does a whole answer", async () => {
    const long = { max_tokens: 1000, delay_ms: 1000 };
    const leaving = new AbortController();
    const streamed = await scribe.open(long, leaving.signal);
    const plain = scribe.open({ ...long, stream: false }, leaving.signal).catch(() => "left");
    await until(async () => (await scribe.running()) === 2);
    leaving.abort();
    await until(async () => (await scribe.running()) === 0);
    expect(await plain).toBe("left");
    await expect(streamed.text()).rejects.toThrow();
  });

  const many = sized(8, 32);
  it(`a stream is correct among ${many} at a time`, async () => {
    const alone = await scribe.say({ delay_ms: 5 });
    const together = Array.from({ length: many }, () => scribe.stream({ delay_ms: 5 }));
    await until(async () => (await scribe.running()) === many);
    for (const chunks of await Promise.all(together)) {
      expect(chunks.map(({ choices: [one] }) => one?.delta.content ?? "").join("")).toBe(alone);
    }
    expect(await scribe.running()).toBe(0);
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

  it("a tool is called when the request requires it, with arguments that fit its schema", async () => {
    for (const [tool_choice, name] of [
      ["required", "get_weather"],
      [{ type: "function", function: { name: "stock_price" } }, "stock_price"],
    ]) {
      const { choices } = await scribe.chat({ ...asked, tool_choice });
      const [{ message, finish_reason }] = choices;
      expect(finish_reason).toBe("tool_calls");
      expect(message.content).toBeNull();
      expect(message.tool_calls?.map((call) => call.function.name)).toEqual([name]);
      expect(JSON.parse(message.tool_calls?.[0]?.function.arguments ?? "")).toEqual(wanted);
    }
  });

  it("a tool is called in pieces in a stream", async () => {
    const chunks = await scribe.stream({ ...asked, tool_choice: "required" });
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

  it("a tool is called when the question has its name, until it has answered", async () => {
    const [asking] = question("Please get weather for Oxford.");
    const { choices } = await scribe.chat({ messages: [asking], tools });
    const [{ message, finish_reason }] = choices;
    expect(finish_reason).toBe("tool_calls");
    expect(message.tool_calls?.map((call) => call.function.name)).toEqual(["get_weather"]);
    const result = { role: "tool", tool_call_id: "c", content: "sunny" };
    const next = await scribe.chat({ messages: [asking, message, result], tools });
    expect(next.choices[0].finish_reason).not.toBe("tool_calls");
  });

  it("a tool is not called otherwise", async () => {
    for (const tool_choice of [undefined, "auto", "none"]) {
      const { choices } = await scribe.chat({ ...asked, tool_choice });
      expect(choices[0].message.tool_calls).toBeUndefined();
      expect(choices[0].message.content).not.toBe("");
    }
  });
});

describe("what it refuses", () => {
  it("a refusal has the error codes of OpenAI's API", async () => {
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

  it("a request for features that the model does not serve is refused", async () => {
    const { status, body } = await scribe.send("POST", "/v1/responses", key);
    expect(status).toBe(404);
    expectErrorBody(body);
    expect((await scribe.get(CHAT)).status).toBe(405);
    expect((await scribe.send("POST", CHAT, "[]")).status).toBe(400);
    expect((await scribe.send("POST", CHAT, "{")).status).toBe(400);
  });

  it("a request with null fields is accepted", async () => {
    const none = { temperature: null, top_p: null, stop: null, n: null, max_tokens: null };
    expect(await scribe.say({ ...none, tools: null, stream_options: null })).toBe(
      await scribe.say({}),
    );
  });
});

it("a server is not ready while it loads, and ends on SIGTERM", async () => {
  const folder = await mkdtemp(join(tmpdir(), "auspex-example-"));
  await cp(join(examplesFolder, "chat"), folder, { recursive: true });
  await writeFile(
    join(folder, "model.mjs"),
    `import { once } from "node:events";
     import manifest from "./auspex.json" with { type: "json" };
     import { serve } from "./openai.mjs";
     serve(manifest, {
       load: () => once(process, "SIGUSR2"),
       calls: { "${CHAT}": () => ({}) },
     });`,
  );
  const example = await launchExample(folder);
  for (const answer of [await example.get("/health"), await example.send("POST", CHAT, key)]) {
    expect(answer.status).toBe(503);
    expectErrorBody(answer.body);
  }
  example.kill("SIGUSR2");
  await until(async () => (await example.get("/health")).status === 200);
  example.kill("SIGTERM");
  expect(await example.exited).toBe(0);
  await rm(folder, { recursive: true });
});
