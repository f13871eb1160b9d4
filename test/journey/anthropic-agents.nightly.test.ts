/** Agents that speak messages: the AI SDK's, against the oracle and against an example model. */
import { generateText, stepCountIs, streamText, ToolLoopAgent, tool } from "ai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { USERNAME } from "./support/access.ts";
import { aiSdkOf } from "./support/anthropic.ts";
import { told } from "./support/openai.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;
const SCRIBE = `${USERNAME}/chat`;

let world: World;
let ai: ReturnType<typeof aiSdkOf>;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 8 });
  ai = aiSdkOf(world.access);
});
afterEach(() => ai.wire.settle());
afterAll(() => world.close());

const weather = tool({
  description: "Tells the weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});
const tools = { weather };

describe.each([ORACLE, NATIVE])("%s", (name) => {
  const calls = [{ name: "weather", arguments: { city: "Rome" } }];

  it("the AI SDK generates text, with reasoning and usage", async () => {
    const { text, reasoningText, finishReason, usage } = await generateText({
      model: ai.provider(name),
      maxOutputTokens: 100,
      prompt: told({ think: ["hm"], say: ["It", " rains"] }),
    });
    expect({ text, reasoningText, finishReason }).toEqual({
      text: "It rains",
      reasoningText: "hm",
      finishReason: "stop",
    });
    expect(usage).toMatchObject({ inputTokens: 1, outputTokens: 3 });
  });

  it("the AI SDK streams text", async () => {
    const { textStream, finishReason } = streamText({
      model: ai.provider(name),
      maxOutputTokens: 100,
      prompt: told({ say: ["one ", "two"] }),
    });
    expect(await Array.fromAsync(textStream)).toEqual(["one ", "two"]);
    expect(await finishReason).toBe("stop");
  });

  it("an agent goes on until its tools have answered", async () => {
    const agent = new ToolLoopAgent({
      model: ai.provider(name),
      maxOutputTokens: 100,
      instructions: "Use the tools.",
      tools,
    });
    const prompt = told({ say: ["Let me see."], calls });
    const { text, steps } = await agent.generate({ prompt });
    expect(text).toBe("You said: the tool says sunny in Rome");
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    const streamed = await agent.stream({ prompt });
    expect(await streamed.text).toBe("You said: the tool says sunny in Rome");
  });
});

it("an example model completes a tool loop with the tool that the question names", async () => {
  const { text, steps } = await generateText({
    model: ai.provider(SCRIBE),
    maxOutputTokens: 20,
    stopWhen: stepCountIs(4),
    tools,
    prompt: "Which weather is it in Oxford?",
  });
  expect(steps.flatMap((step) => step.toolResults.map(({ output }) => output))).toEqual([
    "sunny in Oxford",
  ]);
  expect(steps).toHaveLength(2);
  expect(text).not.toBe("");
});

it("an error has the convention's form, which the SDK can read", async () => {
  const asked = generateText({ model: ai.provider("nobody/none"), prompt: "Hello", maxRetries: 0 });
  await expect(asked).rejects.toMatchObject({
    statusCode: 404,
    message: expect.stringContaining("GET /v1/vendorb/models"),
  });
});
