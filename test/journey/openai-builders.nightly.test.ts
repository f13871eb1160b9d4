/**
 * Libraries that applications are built with, the AI SDK and LangChain, against the oracle and the examples.
 */
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { embedMany, generateText, Output, streamText, ToolLoopAgent, tool } from "ai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { USERNAME } from "./support/access.ts";
import { langChainOf } from "./support/anthropic.ts";
import { buildersOf, told } from "./support/openai.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const STORY = `${USERNAME}/text-generation`;
const MEANING = `${USERNAME}/embeddings`;

let world: World;
let openai: ReturnType<typeof buildersOf>;
let anthropic: ReturnType<typeof langChainOf>;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 8 });
  openai = buildersOf(world.access);
  anthropic = langChainOf(world.access);
});
afterEach(async () => {
  await openai.wire.settle();
  await anthropic.wire.settle();
});
afterAll(() => world.close());

const calls = [{ name: "weather", arguments: { city: "Rome" } }];
const weather = {
  description: "Tells the weather of a city",
  schema: z.object({ city: z.string() }),
};
const city = z.object({ city: z.string(), population: z.number() });
const ROME = { city: "Rome", population: 3 };

describe("the AI SDK", () => {
  const models = [
    ["chat", () => openai.aiSdk.chat(ORACLE)],
    ["responses", () => openai.aiSdk.responses(ORACLE)],
  ] as const;

  describe.each(models)("%s", (_, model) => {
    it("the SDK generates and streams text", async () => {
      const prompt = told({ say: ["It", " rains"] });
      const { text, finishReason, usage } = await generateText({ model: model(), prompt });
      expect({ text, finishReason }).toEqual({ text: "It rains", finishReason: "stop" });
      expect(usage).toMatchObject({ inputTokens: 1, outputTokens: 2 });
      const { textStream } = streamText({ model: model(), prompt });
      expect(await Array.fromAsync(textStream)).toEqual(["It", " rains"]);
    });

    it("the SDK gets an object that fits a schema", async () => {
      const { output } = await generateText({
        model: model(),
        output: Output.object({ schema: city }),
        prompt: told({ say: [JSON.stringify(ROME)] }),
      });
      expect(output).toEqual(ROME);
    });

    it("an agent goes on until its tools have answered", async () => {
      const agent = new ToolLoopAgent({
        model: model(),
        tools: {
          weather: tool({
            description: weather.description,
            inputSchema: weather.schema,
            execute: async (asked) => `sunny in ${asked.city}`,
          }),
        },
      });
      const prompt = told({ say: ["Let me see."], calls });
      const { text, steps } = await agent.generate({ prompt });
      expect(text).toBe("You said: the tool says sunny in Rome");
      expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
      const streamed = await agent.stream({ prompt });
      expect(await streamed.text).toBe(text);
    });
  });

  it("the SDK gets completions of a server and of a Cog model", async () => {
    for (const name of [ORACLE, STORY]) {
      const model = openai.aiSdk.completion(name);
      const asked = { model, prompt: "Once upon a time", seed: 3, maxOutputTokens: 20 };
      const { text, usage } = await generateText(asked);
      expect(text).not.toBe("");
      expect(usage.outputTokens).toBeGreaterThan(0);
      expect(await streamText(asked).text).toBe(text);
    }
  });

  it("the SDK gets embeddings", async () => {
    const model = openai.aiSdk.embedding(MEANING);
    const { embeddings } = await embedMany({ model, values: ["cat", "kitten"] });
    expect(embeddings[0]).toHaveLength(embeddings[1]?.length ?? 0);
  });
});

describe("LangChain", () => {
  const models = [
    ["chat", () => new ChatOpenAI({ ...openai.langChain, model: ORACLE })],
    [
      "responses",
      () => new ChatOpenAI({ ...openai.langChain, model: ORACLE, useResponsesApi: true }),
    ],
    ["messages", () => new ChatAnthropic({ ...anthropic.options, model: ORACLE, maxTokens: 100 })],
  ] as const;
  const weatherTool = langChainTool(async (asked) => `sunny in ${asked.city}`, {
    name: "weather",
    ...weather,
  });

  describe.each(models)("%s", (name, model) => {
    it("LangChain invokes and streams", async () => {
      const asked = told({ say: ["It", " rains"] });
      const answer = await model().invoke(asked);
      expect(answer.text).toBe("It rains");
      expect(answer.usage_metadata).toMatchObject({ input_tokens: 1, output_tokens: 2 });
      const pieces = await Array.fromAsync(await model().stream(asked), ({ text }) => text);
      expect(pieces.filter(Boolean)).toEqual(["It", " rains"]);
    });

    it("LangChain gets an object that fits a schema", async () => {
      // LangChain asks a model of messages to call a tool with the object as its arguments.
      const script =
        name === "messages"
          ? { calls: [{ name: "extract", arguments: ROME }] }
          : { say: [JSON.stringify(ROME)] };
      const structured = model().withStructuredOutput(city, {
        name: "extract",
        ...(name === "messages" && { method: "functionCalling" }),
      });
      expect(await structured.invoke(told(script))).toEqual(ROME);
    });

    it("an agent goes on until its tools have answered", async () => {
      const agent = model().bindTools([weatherTool]);
      const asked = new HumanMessage(told({ say: ["Let me see."], calls }));
      const first = await agent.invoke([asked]);
      const [call = { name: "none", args: {} }] = first.tool_calls ?? [];
      expect(call).toMatchObject({ name: "weather", args: { city: "Rome" } });
      const result = await weatherTool.invoke({ ...call, type: "tool_call" });
      const last = await agent.invoke([asked, first, result]);
      expect(last.text).toBe("You said: the tool says sunny in Rome");
    });
  });

  it("LangChain gets completions of a server and of a Cog model", async () => {
    for (const model of [ORACLE, STORY]) {
      const llm = new OpenAI({ ...openai.langChain, model, maxTokens: 20 });
      expect(await llm.invoke("Once upon a time")).not.toBe("");
      const pieces = await Array.fromAsync(await llm.stream("Once upon a time"));
      expect(pieces.join("")).not.toBe("");
    }
  });

  it("LangChain gets embeddings", async () => {
    const embeddings = new OpenAIEmbeddings({ ...openai.langChain, model: MEANING });
    const [cat = [], kitten = []] = await embeddings.embedDocuments(["cat", "kitten"]);
    expect(cat).toHaveLength(kitten.length);
  });
});
