/** Libraries that applications are built with, and the previous major version of each client. */
import * as anthropic4 from "@ai-sdk/anthropic";
import * as anthropic3 from "@ai-sdk/anthropic-3";
import * as openai4 from "@ai-sdk/openai";
import * as openai3 from "@ai-sdk/openai-3";
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAI, OpenAIEmbeddings } from "@langchain/openai";
import * as ai7 from "ai";
import * as ai6 from "ai-6";
import Anthropic from "anthropic-0";
import OpenAI6 from "openai-6";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { USERNAME } from "../journey/support/access.ts";
import { asks, told } from "../journey/support/conventions.ts";
import { ANTHROPIC, OPENAI, Wire } from "../journey/support/wire.ts";
import { World } from "../journey/support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;
const STORY = `${USERNAME}/text-generation`;
const EMBEDDINGS = `${USERNAME}/embeddings`;

const SCRIPT = { say: ["It", " rains"] };
const CALLING = { say: ["Let me see."], calls: [{ name: "weather", arguments: { city: "Rome" } }] };
const USED = "You said: the tool says sunny in Rome";
const ROME = { city: "Rome", population: 3 };
const city = z.object({ city: z.string(), population: z.number() });

const weather = {
  description: "Tells the weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async (asked: { city: string }) => `sunny in ${asked.city}`,
};

const wires = { openai: new Wire(OPENAI), anthropic: new Wire(ANTHROPIC) };

let world: World;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 8 });
});
afterEach(async () => {
  for (const wire of Object.values(wires)) await wire.settle();
});
afterAll(() => world.close());

/** Returns the settings that clients of a convention share. */
const settings = (convention: "openai" | "anthropic") => ({
  apiKey: world.access.token,
  baseURL: `${world.access.url}/v1/${convention === "openai" ? "vendora" : "vendorb"}`,
  fetch: wires[convention].fetch,
});

describe("the AI SDK 7", () => {
  const models = [
    ["chat", () => openai4.createOpenAI(settings("openai")).chat(ORACLE)],
    ["responses", () => openai4.createOpenAI(settings("openai")).responses(ORACLE)],
    ["native responses", () => openai4.createOpenAI(settings("openai")).responses(NATIVE)],
    ["messages", () => anthropic4.createAnthropic(settings("anthropic"))(ORACLE)],
    ["native messages", () => anthropic4.createAnthropic(settings("anthropic"))(NATIVE)],
  ] as const;

  it.each(models)("the AI SDK 7 gets text, objects and tool calls over %s", async (name, of) => {
    const model = of();
    const prompt = told(SCRIPT);
    const { text, finishReason, usage } = await ai7.generateText({ model, prompt });
    expect({ text, finishReason }).toEqual({ text: "It rains", finishReason: "stop" });
    expect(usage).toMatchObject({ inputTokens: 1, outputTokens: 2 });
    const { textStream } = ai7.streamText({ model, prompt });
    expect(await Array.fromAsync(textStream)).toEqual(["It", " rains"]);
    const agent = new ai7.ToolLoopAgent({ model, tools: { weather: ai7.tool(weather) } });
    const { text: answer, steps } = await agent.generate({ prompt: told(CALLING) });
    expect(answer).toBe(USED);
    expect(steps.map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
    const streamed = await agent.stream({ prompt: told(CALLING) });
    expect(await streamed.text).toBe(USED);
    if (name.endsWith("messages")) return;
    const output = ai7.Output.object({ schema: city });
    const said = told({ say: [JSON.stringify(ROME)] });
    expect((await ai7.generateText({ model, output, prompt: said })).output).toEqual(ROME);
  });

  it("the AI SDK 7 gets completions, embeddings and images", async () => {
    const provider = openai4.createOpenAI(settings("openai"));
    for (const name of [ORACLE, STORY]) {
      const asked = { prompt: "Once upon a time", seed: 3, maxOutputTokens: 20 };
      const model = provider.completion(name);
      const { text } = await ai7.generateText({ model, ...asked });
      expect(text).not.toBe("");
      expect(await ai7.streamText({ model, ...asked }).text).toBe(text);
    }
    const values = ["cat", "kitten"];
    const { embeddings } = await ai7.embedMany({ model: provider.embedding(EMBEDDINGS), values });
    expect(embeddings[0]).toHaveLength(embeddings[1]?.length ?? 0);
    const model = provider.image(`${USERNAME}/image`);
    const { image } = await ai7.generateImage({ model, prompt: "Snow", size: "64x48" });
    expect(image.mediaType).toBe("image/png");
  });

  it("an error of the Anthropic convention has a form that the AI SDK 7 can read", async () => {
    const model = anthropic4.createAnthropic(settings("anthropic"))("nobody/none");
    const asked = ai7.generateText({ model, prompt: "Hello", maxRetries: 0 });
    const message = expect.stringContaining("GET /anthropic/v1/models");
    await expect(asked).rejects.toMatchObject({ statusCode: 404, message });
  });
});

it.each([
  ["chat", () => openai3.createOpenAI(settings("openai")).chat(ORACLE)],
  ["responses", () => openai3.createOpenAI(settings("openai")).responses(ORACLE)],
  ["native responses", () => openai3.createOpenAI(settings("openai")).responses(NATIVE)],
  ["messages", () => anthropic3.createAnthropic(settings("anthropic"))(ORACLE)],
  ["native messages", () => anthropic3.createAnthropic(settings("anthropic"))(NATIVE)],
] as const)("the AI SDK 6 gets text and completes a tool loop over %s", async (_, of) => {
  const model = of();
  const { text } = await ai6.generateText({ model, prompt: told(SCRIPT) });
  expect(text).toBe("It rains");
  const { textStream } = ai6.streamText({ model, prompt: told(SCRIPT) });
  expect(await Array.fromAsync(textStream)).toEqual(["It", " rains"]);
  const tools = { weather: ai6.tool(weather) };
  const stopWhen = ai6.stepCountIs(3);
  const last = await ai6.generateText({ model, prompt: told(CALLING), stopWhen, tools });
  expect(last.text).toBe(USED);
});

it("the previous official clients get chats, responses and messages, whole and streamed", async () => {
  const openai = new OpenAI6(settings("openai"));
  const chat = { model: ORACLE, messages: asks(SCRIPT) };
  const { choices } = await openai.chat.completions.create(chat);
  expect(choices[0]?.message.content).toBe("It rains");
  expect(await openai.chat.completions.stream(chat).finalContent()).toBe("It rains");
  const anthropic = new Anthropic(settings("anthropic"));
  for (const model of [ORACLE, NATIVE]) {
    const body = { model, input: told(SCRIPT) };
    const whole = await openai.responses.create(body);
    const streamed = await openai.responses.stream(body).finalResponse();
    expect([whole.output_text, streamed.output_text]).toEqual(["It rains", "It rains"]);
    const message = { model, max_tokens: 9, messages: asks(SCRIPT) };
    expect((await anthropic.messages.create(message)).content).toMatchObject([
      { text: "It rains" },
    ]);
    expect(await anthropic.messages.stream(message).finalText()).toBe("It rains");
  }
});

describe("LangChain", () => {
  const openai = () => {
    const { apiKey, ...configuration } = settings("openai");
    return { apiKey, configuration };
  };
  const messages = () => {
    const { apiKey, baseURL, fetch } = settings("anthropic");
    return { apiKey, anthropicApiUrl: baseURL, clientOptions: { fetch }, maxTokens: 100 };
  };
  const langChainWeather = langChainTool(weather.execute, {
    name: "weather",
    description: weather.description,
    schema: weather.inputSchema,
  });

  it.each([
    ["chat", () => new ChatOpenAI({ ...openai(), model: ORACLE })],
    ["responses", () => new ChatOpenAI({ ...openai(), model: ORACLE, useResponsesApi: true })],
    ["messages", () => new ChatAnthropic({ ...messages(), model: ORACLE })],
  ] as const)("LangChain gets text, objects and tool calls over %s", async (name, of) => {
    const model = of();
    const answer = await model.invoke(told(SCRIPT));
    expect(answer.text).toBe("It rains");
    expect(answer.usage_metadata).toMatchObject({ input_tokens: 1, output_tokens: 2 });
    const pieces = await Array.fromAsync(await model.stream(told(SCRIPT)), ({ text }) => text);
    expect(pieces.filter(Boolean)).toEqual(["It", " rains"]);
    const agent = of().bindTools([langChainWeather]);
    const asked = new HumanMessage(told(CALLING));
    const first = await agent.invoke([asked]);
    const [call = { name: "none", args: {} }] = first.tool_calls ?? [];
    const result = await langChainWeather.invoke({ ...call, type: "tool_call" });
    expect((await agent.invoke([asked, first, result])).text).toBe(USED);
    // LangChain asks a model of messages to call a tool with the object as its arguments.
    const isMessages = name === "messages";
    const structured = of().withStructuredOutput(city, {
      name: "extract",
      ...(isMessages && { method: "functionCalling" }),
    });
    const script = isMessages
      ? { calls: [{ name: "extract", arguments: ROME }] }
      : { say: [JSON.stringify(ROME)] };
    expect(await structured.invoke(told(script))).toEqual(ROME);
  });

  it("LangChain gets completions and embeddings", async () => {
    const llm = new OpenAI({ ...openai(), model: STORY, maxTokens: 20 });
    expect(await llm.invoke("Once upon a time")).not.toBe("");
    expect((await Array.fromAsync(await llm.stream("Once"))).join("")).not.toBe("");
    const embeddings = new OpenAIEmbeddings({ ...openai(), model: EMBEDDINGS });
    const [cat = [], kitten = []] = await embeddings.embedDocuments(["cat", "kitten"]);
    expect(cat).toHaveLength(kitten.length);
  });
});
