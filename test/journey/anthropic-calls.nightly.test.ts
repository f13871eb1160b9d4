/**
 * Requests that containers get for a message of the official client, Cog models among them; counts and
 * models.
 */
import Anthropic from "@anthropic-ai/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { USERNAME } from "./support/access.ts";
import { anthropicOf, asks, type Setup, textIn } from "./support/anthropic.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;
const RECITER = `${USERNAME}/reciter`;

const WEATHER = {
  name: "weather",
  description: "Tells the weather",
  input_schema: { type: "object" as const, properties: { city: { type: "string" } } },
};
/** The client's types no longer have `temperature`. */
const SAMPLING = { temperature: 0.25 };

let world: World;
let setup: Setup;
let anthropic: Anthropic;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 8 });
  setup = anthropicOf(world.access);
  anthropic = setup.anthropic;
});
afterEach(() => setup.wire.settle());
afterAll(() => world.close());

it("a container gets its own name for the model, and the chat's field for each field of the message", async () => {
  const message = await anthropic.messages.create({
    ...asks(`${ORACLE}:1`, { echo: true }),
    ...SAMPLING,
    system: [{ type: "text", text: "Be brief", cache_control: { type: "ephemeral" } }],
    stop_sequences: ["\n"],
    metadata: { user_id: "u" },
    tools: [WEATHER, { type: "web_search_20250305", name: "web_search" }],
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
  });
  expect(JSON.parse(textIn(message))).toEqual({
    model: "oracle-7b-instruct",
    messages: [{ role: "system", content: "Be brief" }, ...asks(ORACLE, { echo: true }).messages],
    max_tokens: 1_000,
    ...SAMPLING,
    stop: ["\n"],
    tools: [
      {
        type: "function",
        function: {
          name: "weather",
          description: "Tells the weather",
          parameters: WEATHER.input_schema,
        },
      },
    ],
    tool_choice: "auto",
    parallel_tool_calls: false,
    // The runner adds the stream and its usage: a server notices only on a stream that its caller has left.
    stream: true,
    stream_options: { include_usage: true },
  });
  expect(setup.wire.last.headers.get("auspex-tools-left-out")).toBe("web_search_20250305");
});

it("a container that has messages gets the request as it was sent", async () => {
  const asked = { ...asks(NATIVE, { echo: true }), system: "Be brief", top_k: 5 };
  const message = await anthropic.messages.create(asked);
  expect(JSON.parse(textIn(message))).toEqual({
    ...asked,
    model: "oracle-7b-instruct",
    stream: true,
  });
});

it("an image reaches a container that chats", async () => {
  const source = { type: "base64", media_type: "image/png", data: "aGk=" } as const;
  const message = await anthropic.messages.create({
    ...asks(ORACLE, {}),
    messages: [
      {
        role: "user",
        content: [
          { type: "image", source },
          { type: "text", text: JSON.stringify({ echo: true }) },
        ],
      },
    ],
  });
  expect(textIn(message)).toContain('{"url":"data:image/png;base64,aGk="}');
});

describe("a Cog model", () => {
  const recites = (...outputs: unknown[]) => ({
    model: RECITER,
    max_tokens: 100,
    messages: [{ role: "user" as const, content: JSON.stringify(outputs) }],
  });

  it("a Cog model answers in text, plain and streamed, with its own usage", async () => {
    const asked = recites("Once", " upon", " a time");
    const plain = await anthropic.messages.create(asked);
    const streamed = await anthropic.messages.stream(asked).finalMessage();
    for (const message of [plain, streamed]) {
      expect(message).toMatchObject({
        content: [{ type: "text", text: "Once upon a time" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 3 },
      });
    }
  });

  it("a Cog model fails with its own words, once", async () => {
    const before = setup.wire.exchanges.length;
    const refused = anthropic.messages.create(recites("a", false));
    await expect(refused).rejects.toMatchObject({
      status: 502,
      type: "api_error",
      message: expect.stringContaining("forgotten its lines"),
    });
    expect(setup.wire.exchanges).toHaveLength(before + 1);
  });
});

describe("counting tokens", () => {
  it("tokens are counted by a container that can, and estimated otherwise", async () => {
    const { max_tokens: _, ...asked } = asks(NATIVE, { say: ["x".repeat(400)] });
    expect(await anthropic.messages.countTokens(asked)).toMatchObject({ input_tokens: 1_001 });
    const estimate = await anthropic.messages.countTokens({ ...asked, model: ORACLE });
    expect(estimate.input_tokens).toBeGreaterThan(100);
    expect(estimate.input_tokens).toBeLessThan(120);
  });
});

describe("models", () => {
  it("models are listed page by page, and found by their names", async () => {
    const ids: string[] = [];
    for await (const { id } of anthropic.models.list({ limit: 2 })) ids.push(id);
    expect(ids).toEqual(expect.arrayContaining([ORACLE, NATIVE, RECITER, `${USERNAME}/chat`]));
    expect(ids).not.toContain(`${USERNAME}/embeddings`);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await anthropic.models.retrieve(ORACLE)).toMatchObject({ id: ORACLE, type: "model" });
  });

  it("models that do not exist are refused with the error class for that", async () => {
    const { NotFoundError, AuthenticationError } = Anthropic;
    const none = { ...asks(ORACLE, {}), model: "claude-opus-4-1" };
    await expect(anthropic.messages.create(none)).rejects.toBeInstanceOf(NotFoundError);
    const stranger = anthropicOf({ ...world.access, token: "nonsense" });
    const asked = stranger.anthropic.messages.create(asks(ORACLE, {}));
    await expect(asked).rejects.toBeInstanceOf(AuthenticationError);
    await stranger.wire.settle();
  });
});
