/** Chat completions by the official client: a container that speaks the convention, and a Cog model. */
import type OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { USERNAME } from "./support/access.ts";
import { endOf } from "./support/end.ts";
import { asks, openAiOf, predictionIn, type Setup } from "./support/openai.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const RECITER = `${USERNAME}/reciter`;
const WEATHER = {
  type: "function" as const,
  function: {
    name: "weather",
    description: "Tells the weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};

let world: World;
let setup: Setup;
let openai: OpenAI;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 16 });
  setup = openAiOf(world.access);
  openai = setup.openai;
});
afterEach(() => setup.wire.settle());
afterAll(() => world.close());

/** Reads a stream to its end. */
async function read<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of stream) all.push(item);
  return all;
}

const deltas = (chunks: OpenAI.ChatCompletionChunk[], index = 0) =>
  chunks.flatMap(({ choices }) => choices.filter((one) => one.index === index));

describe("plain", () => {
  it("a chat completion answers, is a prediction with metrics, and is in the list", async () => {
    const messages = asks({ say: ["Rain", " at", " noon"] });
    const data = await openai.chat.completions.create({ model: ORACLE, messages });
    expect(data.choices).toMatchObject([
      { message: { content: "Rain at noon" }, finish_reason: "stop" },
    ]);
    expect(data).toMatchObject({
      model: ORACLE,
      usage: { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 },
    });
    expect(data._request_id).toBe(setup.wire.last.headers.get("x-request-id"));
    const full = await endOf(world, world.watch(predictionIn(setup.wire.last)), "succeeded");
    expect(full.metrics).toMatchObject({ input_tokens: 1, output_tokens: 3 });
    expect(full.metrics).not.toHaveProperty("tokens_estimated");
    expect(full.input).toMatchObject({ model: ORACLE });
  });

  it("the container gets the model name that it serves, and every other field as it came", async () => {
    const { choices } = await openai.chat.completions.create({
      model: `${ORACLE}:1`,
      messages: [{ role: "system", content: "Be brief" }, ...asks({ echo: true })],
      temperature: 0.25,
      seed: 7,
      stop: ["\n"],
      user: "u",
    });
    expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({
      model: "oracle-7b-instruct",
      messages: [{ role: "system", content: "Be brief" }, ...asks({ echo: true })],
      temperature: 0.25,
      seed: 7,
      stop: ["\n"],
      user: "u",
      // The runner adds the stream and its usage: a server notices only on a stream that its caller has left.
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(setup.wire.last.text).toContain(`"model":"${ORACLE}:1"`);
  });

  it("a completion has several choices, log probabilities, reasoning, a refusal, and why it stopped", async () => {
    const { choices } = await openai.chat.completions.create({
      model: ORACLE,
      n: 3,
      logprobs: true,
      top_logprobs: 1,
      messages: asks({ say: ["a", "b"], think: ["hm", "!"], refuse: ["no"], finish: "length" }),
    });
    expect(choices.map(({ message }) => message.content)).toEqual(["ab", "a1b1", "a2b2"]);
    for (const { logprobs, finish_reason, message } of choices) {
      expect(logprobs?.content?.[0]).toMatchObject({ logprob: -0.5, top_logprobs: [{}] });
      expect(finish_reason).toBe("length");
      expect(message).toMatchObject({ refusal: "no", reasoning_content: "hm!" });
    }
  });

  it("a conversation goes a whole round with tools", async () => {
    const runner = openai.chat.completions.runTools({
      model: ORACLE,
      messages: asks({ calls: [{ name: "weather", arguments: { city: "Rome" } }] }),
      tools: [{ ...WEATHER, function: { ...WEATHER.function, function: weather, parse } }],
    });
    expect(await runner.finalContent()).toBe("You said: the tool says sunny in Rome");
  });
});

const place = z.object({ city: z.string() });
const parse = (text: string) => place.parse(JSON.parse(text));
const weather = ({ city }: z.infer<typeof place>) => `sunny in ${city}`;

describe("streamed", () => {
  it("a stream brings each piece when it is there, without usage unless it is asked for", async () => {
    const stream = await openai.chat.completions.create({
      model: ORACLE,
      stream: true,
      messages: asks({ say: ["one ", "two ", "three"], every: 100 }),
    });
    const times: number[] = [];
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) {
      chunks.push(chunk);
      if (chunk.choices[0]?.delta.content) times.push(performance.now());
    }
    const contents = deltas(chunks).map(({ delta }) => delta.content ?? "");
    expect(contents.filter(Boolean)).toEqual(["one ", "two ", "three"]);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(100);
    expect(deltas(chunks).at(-1)?.finish_reason).toBe("stop");
  });

  it("a stream has usage when it is asked for, and the container always counts", async () => {
    const messages = asks({ say: ["a", "b"] });
    const stream_options = { include_usage: true };
    const chunks = await read(
      await openai.chat.completions.create({
        model: ORACLE,
        stream: true,
        stream_options,
        messages,
      }),
    );
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 1, completion_tokens: 2 });
    await read(await openai.chat.completions.create({ model: ORACLE, stream: true, messages }));
    const { metrics } = await endOf(world, world.watch(predictionIn(setup.wire.last)), "succeeded");
    expect(metrics).toMatchObject({ input_tokens: 1, output_tokens: 2 });
  });

  it("the service counts when the container does not, and says that the count is estimated", async () => {
    const messages = asks({ say: ["x".repeat(400)], usage: false });
    await read(await openai.chat.completions.create({ model: ORACLE, stream: true, messages }));
    const { metrics } = await world.get(predictionIn(setup.wire.last));
    expect(metrics).toMatchObject({ output_tokens: 100, tokens_estimated: 1 });
  });

  it("the client's helper assembles choices, log probabilities and reasoning from a stream", async () => {
    const stream = openai.chat.completions.stream({
      model: ORACLE,
      n: 2,
      logprobs: true,
      messages: asks({ think: ["h", "m"], say: ["It", " rains"] }),
    });
    const { choices } = await stream.finalChatCompletion();
    expect(choices.map(({ message }) => message.content)).toEqual(["It rains", "It1 rains1"]);
    expect(choices[1]?.logprobs?.content).toHaveLength(2);
    expect(setup.wire.last.text).toContain('"reasoning_content":"h"');
  });

  it("a stream calls tools in parallel, argument by argument", async () => {
    const calls = [
      { name: "weather", arguments: { city: "Rome" } },
      { name: "weather", arguments: { city: "Reykjavík" } },
    ];
    const runner = openai.chat.completions.runTools({
      model: ORACLE,
      stream: true,
      messages: asks({ calls }),
      tools: [{ ...WEATHER, function: { ...WEATHER.function, function: weather, parse } }],
    });
    expect(await runner.finalContent()).toBe("You said: the tool says sunny in Reykjavík");
    const tools = runner.messages.filter(({ role }) => role === "tool");
    expect(tools.map(({ content }) => content)).toEqual(["sunny in Rome", "sunny in Reykjavík"]);
  });

  it("a streamed chat can be replayed as any other prediction, from anywhere", async () => {
    const say = Array.from({ length: 30 }, (_, n) => `w${n} `);
    await read(
      await openai.chat.completions.create({
        model: ORACLE,
        stream: true,
        messages: asks({ say }),
      }),
    );
    const { text } = setup.wire.last;
    const full = await endOf(world, world.watch(predictionIn(setup.wire.last)), "succeeded");
    expect(full.output).toHaveLength(33);
    const [id] = [...text.matchAll(/^id: (\d+)$/gm)].map(([, one]) => Number(one)).slice(10);
    const rest: unknown[] = [];
    const path = `/predictions/${full.id}/stream?after_id=${id}`;
    for await (const { event, data } of world.client.events("GET", path)) {
      if (event === "output") rest.push(data);
    }
    expect(full.output).toEqual([
      ...z.array(z.unknown()).parse(full.output).slice(0, -rest.length),
      ...rest,
    ]);
    expect(rest.length).toBeGreaterThan(0);
  });

  it("one container serves many streams at a time", async () => {
    const one = async (n: number) => {
      const say = [`${n}:`, "a", "b"];
      const messages = asks({ say, every: 20 });
      const chunks = await read(
        await openai.chat.completions.create({ model: ORACLE, stream: true, messages }),
      );
      return deltas(chunks)
        .map(({ delta }) => delta.content)
        .join("");
    };
    const texts = await Promise.all(Array.from({ length: 16 }, (_, n) => one(n)));
    expect(texts).toEqual(texts.map((_, n) => `${n}:ab`));
  });
});

describe("a Cog model", () => {
  const recites = (...outputs: unknown[]) => [
    { role: "user" as const, content: JSON.stringify(outputs) },
  ];

  it("a Cog model answers in text, plain and streamed, with its own usage", async () => {
    const messages = recites("Once", " upon", " a time");
    const plain = await openai.chat.completions.create({ model: RECITER, messages });
    expect(plain.choices[0]?.message.content).toBe("Once upon a time");
    expect(plain.usage).toMatchObject({ prompt_tokens: 1, completion_tokens: 3 });
    const stream = openai.chat.completions.stream({
      model: RECITER,
      messages,
      stream_options: { include_usage: true },
    });
    const whole = await stream.finalChatCompletion();
    expect(whole.choices[0]).toMatchObject({
      message: { content: "Once upon a time" },
      finish_reason: "stop",
    });
    const { metrics } = await world.get(predictionIn(setup.wire.last));
    expect(metrics).toMatchObject({ input_tokens: 1, output_tokens: 3 });
  });

  it("a Cog model may output chunks of the convention, or one object", async () => {
    const call = { id: "c1", type: "function", function: { name: "weather", arguments: "{}" } };
    const chunks = recites(
      { choices: [{ index: 0, delta: { content: "See: " } }] },
      { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] } }] },
    );
    const object = recites({ choices: [{ message: { content: "See: ", tool_calls: [call] } }] });
    for (const messages of [chunks, object]) {
      const plain = await openai.chat.completions.create({ model: RECITER, messages });
      const streamed = openai.chat.completions.stream({ model: RECITER, messages });
      for (const { choices } of [plain, await streamed.finalChatCompletion()]) {
        expect(choices[0]).toMatchObject({
          message: { content: "See: ", tool_calls: [{ id: "c1", function: { name: "weather" } }] },
          finish_reason: "tool_calls",
        });
      }
    }
  });

  it("a Cog model fails with its own words, once, and so does an output that cannot be read", async () => {
    const before = setup.wire.exchanges.length;
    for (const [outputs, words] of [
      [["a", false], "forgotten its lines"],
      [[{ unheard: "of" }], /./],
    ] as const) {
      const asked = openai.chat.completions.create({
        model: RECITER,
        messages: recites(...outputs),
      });
      await expect(asked).rejects.toMatchObject({
        status: 502,
        code: "model_error",
        message: expect.stringMatching(words),
      });
    }
    expect(setup.wire.exchanges).toHaveLength(before + 2);
  });
});
