/** Messages by the official client: of a container that has the endpoint, and of one that only chats. */
import type Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { USERNAME } from "./support/access.ts";
import { anthropicOf, asks, type Setup, textIn } from "./support/anthropic.ts";
import { endOf } from "./support/end.ts";
import { predictionIn, type Script } from "./support/openai.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;

let world: World;
let setup: Setup;
let anthropic: Anthropic;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 16 });
  setup = anthropicOf(world.access);
  anthropic = setup.anthropic;
});
afterEach(() => setup.wire.settle());
afterAll(() => world.close());

const WEATHER = {
  name: "weather",
  description: "Tells the weather",
  input_schema: { type: "object" as const, properties: { city: { type: "string" } } },
};

const weather = betaZodTool({
  name: "weather",
  description: "Tells the weather",
  inputSchema: z.object({ city: z.string() }),
  run: ({ city }) => `sunny in ${city}`,
});

describe.each([
  ["that has messages", NATIVE],
  ["that only chats", ORACLE],
])("a container %s", (_, model) => {
  const create = (script: Script, more: object = {}) =>
    anthropic.messages.create({ ...asks(model, script), ...more });

  it("a message answers, is a prediction with metrics, and has a request ID", async () => {
    const message = await create({ say: ["Rain", " at", " noon"] });
    expect(message).toMatchObject({
      model,
      content: [{ type: "text", text: "Rain at noon" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 3 },
    });
    expect(message._request_id).toBe(setup.wire.last.headers.get("request-id"));
    const full = await endOf(world, world.watch(predictionIn(setup.wire.last)), "succeeded");
    expect(full.metrics).toMatchObject({ input_tokens: 1, output_tokens: 3 });
    expect(full.metrics).not.toHaveProperty("tokens_estimated");
    expect(full.input).toMatchObject({ model, max_tokens: 1_000 });
  });

  it("a message has thoughts, which can be sent back to the model", async () => {
    const first = await create({ think: ["h", "m"], say: ["Yes"] });
    expect(first.content).toMatchObject([
      { type: "thinking", thinking: "hm", signature: expect.stringMatching(/./) },
      { type: "text", text: "Yes" },
    ]);
    const next = await anthropic.messages.create({
      model,
      max_tokens: 9,
      messages: [
        { role: "user", content: "Well?" },
        { role: "assistant", content: first.content },
        { role: "user", content: "Why?" },
      ],
    });
    expect(textIn(next)).toBe("You said: Why?");
  });

  it.each<[Script, string, string | null]>([
    [{ say: ["a"], finish: "length" }, "max_tokens", null],
    [{ say: ["a"], finish: "content_filter" }, "refusal", null],
    [{ say: ["a"], finish: "stop" }, "stop_sequence", "END"],
  ])("a message of %j has the stop reason %s", async (script, stop_reason, stop_sequence) => {
    const message = await create(script, { stop_sequences: ["END"] });
    expect(message).toMatchObject({ stop_reason, stop_sequence });
  });

  it("a stream brings each piece when it is there, with the helper's events", async () => {
    const stream = anthropic.messages.stream(
      asks(model, { think: ["hm"], say: ["one ", "two ", "three"], every: 100 }),
    );
    const times: number[] = [];
    const texts: string[] = [];
    stream.on("text", (text) => {
      times.push(performance.now());
      texts.push(text);
    });
    const message = await stream.finalMessage();
    expect(texts).toEqual(["one ", "two ", "three"]);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(100);
    expect(await stream.finalText()).toBe("one two three");
    expect(message).toMatchObject({
      content: [{ type: "thinking", thinking: "hm" }, { type: "text" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 4 },
    });
  });

  it("a message calls tools in parallel, argument by argument", async () => {
    const calls = [
      { name: "weather", arguments: { city: "Rome" } },
      { name: "weather", arguments: { city: "Reykjavík" } },
    ];
    const asked = { ...asks(model, { say: ["See"], calls }), tools: [WEATHER] };
    const plain = await anthropic.messages.create(asked);
    const streamed = await anthropic.messages.stream(asked).finalMessage();
    for (const message of [plain, streamed]) {
      expect(message).toMatchObject({
        content: [
          { type: "text", text: "See" },
          { type: "tool_use", name: "weather", input: { city: "Rome" } },
          { type: "tool_use", name: "weather", input: { city: "Reykjavík" } },
        ],
        stop_reason: "tool_use",
      });
    }
  });

  it.each([true, false])(
    "a conversation goes a whole round with tools (stream: %s)",
    async (stream) => {
      const runner = anthropic.beta.messages.toolRunner({
        ...asks(model, { calls: [{ name: "weather", arguments: { city: "Rome" } }] }),
        tools: [weather],
        stream,
      });
      expect(textIn(await runner.runUntilDone())).toBe("You said: the tool says sunny in Rome");
      expect(runner.params.messages).toHaveLength(4);
    },
  );

  it("a message can be replayed as any other prediction", async () => {
    await anthropic.messages.stream(asks(model, { say: ["a", "b"] })).finalMessage();
    const full = await endOf(world, world.watch(predictionIn(setup.wire.last)), "succeeded");
    const outputs: unknown[] = [];
    const path = `/predictions/${full.id}/stream`;
    for await (const { event, data } of world.client.events("GET", path)) {
      if (event === "output") outputs.push(data);
    }
    expect(outputs).toEqual(full.output);
  });
});
