/** The previous major version of each client: many applications stay on it for a year. */
import { createAnthropic } from "@ai-sdk/anthropic-3";
import { createOpenAI } from "@ai-sdk/openai-3";
import { embedMany, generateImage, generateText, stepCountIs, streamText, tool } from "ai-6";
import Anthropic from "anthropic-0";
import OpenAI from "openai-6";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { USERNAME } from "./support/access.ts";
import { asks, textIn } from "./support/anthropic.ts";
import { ANTHROPIC_CHECKS } from "./support/anthropic-checks.ts";
import { asks as chatting, told } from "./support/openai.ts";
import { OPENAI_CHECKS } from "./support/openai-checks.ts";
import { Wire } from "./support/openai-wire.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;

const SCRIPT = { think: ["hm"], say: ["It", " rains"] };
const CALLING = { say: ["Let me see."], calls: [{ name: "weather", arguments: { city: "Rome" } }] };
const USED = "You said: the tool says sunny in Rome";

const wires = [new Wire(OPENAI_CHECKS), new Wire(ANTHROPIC_CHECKS)] as const;

let world: World;
let openai: OpenAI;
let anthropic: Anthropic;
let openaiProvider: ReturnType<typeof createOpenAI>;
let anthropicProvider: ReturnType<typeof createAnthropic>;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 8 });
  const { url, token: apiKey } = world.access;
  const [a, b] = wires;
  const openaiSetup = { apiKey, baseURL: `${url}/v1/vendora`, fetch: a.fetch };
  const anthropicSetup = { apiKey, baseURL: `${url}/v1/vendorb`, fetch: b.fetch };
  openai = new OpenAI(openaiSetup);
  openaiProvider = createOpenAI(openaiSetup);
  anthropic = new Anthropic(anthropicSetup);
  anthropicProvider = createAnthropic(anthropicSetup);
});
afterEach(async () => {
  for (const wire of wires) await wire.settle();
});
afterAll(() => world.close());

describe.each([ORACLE, NATIVE])("AI SDK 6 with %s", (name) => {
  const models = [
    ...(name === ORACLE ? [["chat", () => openaiProvider.chat(name)] as const] : []),
    ["responses", () => openaiProvider.responses(name)],
    ["messages", () => anthropicProvider(name)],
  ] as const;

  it.each(models)("the AI SDK generates and streams text over %s", async (_, model) => {
    const prompt = told(SCRIPT);
    const { text, finishReason } = await generateText({ model: model(), prompt });
    expect({ text, finishReason }).toEqual({ text: "It rains", finishReason: "stop" });
    const { textStream } = streamText({ model: model(), prompt });
    expect(await Array.fromAsync(textStream)).toEqual(["It", " rains"]);
  });

  it.each(models)("the AI SDK completes a tool loop over %s", async (_, model) => {
    const { text, steps } = await generateText({
      model: model(),
      prompt: told(CALLING),
      stopWhen: stepCountIs(3),
      tools: {
        weather: tool({
          inputSchema: z.object({ city: z.string() }),
          execute: async ({ city }) => `sunny in ${city}`,
        }),
      },
    });
    expect(text).toBe(USED);
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
  });
});

it("AI SDK 6 gets completions, embeddings and images", async () => {
  const model = openaiProvider.completion(ORACLE);
  expect((await generateText({ model, prompt: "Once upon a time" })).text).not.toBe("");
  const meaning = openaiProvider.embedding(`${USERNAME}/embeddings`);
  const { embeddings } = await embedMany({ model: meaning, values: ["cat", "kitten"] });
  expect(embeddings).toHaveLength(2);
  const brush = openaiProvider.image(`${USERNAME}/image`);
  const { image } = await generateImage({ model: brush, prompt: "Hills", size: "64x40" });
  expect(image.mediaType).toBe("image/png");
});

describe("openai 6", () => {
  it("the client gets a chat completion, whole and streamed", async () => {
    const body = { model: ORACLE, messages: chatting(SCRIPT) };
    const whole = await openai.chat.completions.create(body);
    const streamed = await openai.chat.completions.stream(body).finalChatCompletion();
    for (const { choices } of [whole, streamed])
      expect(choices).toMatchObject([{ message: { content: "It rains" }, finish_reason: "stop" }]);
  });

  it.each([ORACLE, NATIVE])(
    "the client gets a response of %s, whole and streamed",
    async (model) => {
      const body = { model, input: told(SCRIPT) };
      const whole = await openai.responses.create(body);
      const streamed = await openai.responses.stream(body).finalResponse();
      expect([whole.output_text, streamed.output_text]).toEqual(["It rains", "It rains"]);
    },
  );
});

it.each([ORACLE, NATIVE])("@anthropic-ai/sdk 0 gets a message of %s", async (model) => {
  const whole = await anthropic.messages.create(asks(model, SCRIPT));
  const streamed = await anthropic.messages.stream(asks(model, SCRIPT)).finalMessage();
  expect([textIn(whole), textIn(streamed)]).toEqual(["It rains", "It rains"]);
});
