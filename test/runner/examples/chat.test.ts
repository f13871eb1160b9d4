/** Answers of the example language model as a real process, over OpenAI's API and by Cog. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sized } from "../../support/sized.ts";
import { key, question, type Scribe, startScribe } from "../support/chat.ts";
import { type Example, examplesFolder, type State, startExample } from "../support/example.ts";

let scribe: Scribe;
beforeAll(async () => {
  scribe = await startScribe();
});
afterAll(() => scribe.stop());

describe("what it says", () => {
  it("an answer has to do with the question", async () => {
    const expected: [string, RegExp][] = [
      ["Tell me about cats and mice.", /\b(?:cats?|mouse|mice)\b/i],
      ["What is in the bottle?", /\b(?:bottle|drink)\b/i],
      ["Where is the golden key?", /\b(?:key|door)\b/i],
      ["What is the time, Hatter?", /\b(?:time|hatter|watch|clock)\b/i],
    ];
    const answers = (asked: string) =>
      Promise.all(
        Array.from({ length: 10 }, (_, seed) => scribe.say({ messages: question(asked), seed })),
      );
    const others = await answers("zxqj");
    for (const [asked, words] of expected.slice(0, sized(1, expected.length))) {
      const said = (texts: string[]) => texts.filter((text) => words.test(text)).length;
      expect(said(await answers(asked))).toBeGreaterThanOrEqual(8);
      expect(said(others)).toBeLessThan(8);
    }
  });

  it("an answer uses the result of a tool", async () => {
    const messages = [
      ...question("What is the weather?"),
      { role: "assistant", content: null, tool_calls: [] },
      { role: "tool", tool_call_id: "1", content: "It is 21 degrees and sunny in Paris." },
    ];
    expect(await scribe.say({ messages })).toMatch(/Paris|sunny/);
  });

  it("an answer is the same for the same seed, and ends by itself or at the limit", async () => {
    const whole = await scribe.chat({});
    expect(await scribe.chat({})).toMatchObject({ choices: whole.choices });
    expect(whole.choices[0].finish_reason).toBe("stop");
    expect(await scribe.say({ temperature: 1, seed: 2 })).not.toBe(
      await scribe.say({ temperature: 1 }),
    );
    expect(await scribe.say({ temperature: 0, seed: 2 })).toBe(
      await scribe.say({ temperature: 0 }),
    );
    expect(await scribe.say({ temperature: 2, top_p: 0 })).toBe(
      await scribe.say({ temperature: 0 }),
    );
    expect(await scribe.say({ temperature: 1, top_p: 0.5 })).not.toBe(
      await scribe.say({ temperature: 1 }),
    );
    for (const limit of ["max_tokens", "max_completion_tokens"]) {
      const cut = await scribe.chat({ [limit]: 5 });
      expect(cut.choices[0].finish_reason).toBe("length");
      expect(cut.usage).toEqual({ prompt_tokens: 6, completion_tokens: 5, total_tokens: 11 });
      expect(whole.choices[0].message.content).toContain(cut.choices[0].message.content);
    }
  });

  it("an answer ends before the first of several stop texts, also where tokens share it", async () => {
    const whole = await scribe.say({});
    const stop = whole.slice(21, 29);
    const wanted = whole.slice(0, whole.indexOf(stop));
    for (const stops of [stop, [stop, "never in Alice"], [whole.slice(40, 60), stop]]) {
      const { choices } = await scribe.chat({ stop: stops });
      expect(choices[0]).toMatchObject({ message: { content: wanted }, finish_reason: "stop" });
      const chunks = await scribe.stream({ stop: stops });
      expect(chunks.map(({ choices: [one] }) => one?.delta.content ?? "").join("")).toBe(wanted);
    }
    expect(await scribe.say({ stop: "never in Alice" })).toBe(whole);
  });

  it("an answer with several choices has the single answer as its first", async () => {
    const { choices, usage } = await scribe.chat({ n: 3, temperature: 1 });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(new Set(choices.map(({ message }) => message.content)).size).toBe(3);
    const [alone, second] = [
      await scribe.chat({ temperature: 1 }),
      await scribe.chat({ temperature: 1, seed: 2 }),
    ];
    expect(choices[0]).toEqual(alone.choices[0]);
    expect(choices[1]?.message).toEqual(second.choices[0].message);
    expect(usage.completion_tokens).toBeGreaterThan(alone.usage.completion_tokens);
  });

  it("an answer has real log probabilities", async () => {
    const { choices } = await scribe.chat({ logprobs: true, top_logprobs: 20, temperature: 0 });
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
    expect((await scribe.chat({})).choices[0].logprobs).toBeNull();
  });
});

it("the server lists its model", async () => {
  const { body } = await scribe.get<{ data: object[] }>("/v1/models");
  expect(body).toMatchObject({ object: "list", data: [{ id: "chat", object: "model" }] });
  expect((await scribe.get("/v1/models/chat")).body).toEqual(body.data[0]);
});

describe("behind the Cog interface", () => {
  let cog: Example;
  beforeAll(async () => {
    cog = await startExample(join(examplesFolder, "scribe-cog"));
  });
  afterAll(() => cog.stop());

  const predict = (input: object) => cog.send<State>("POST", "/predictions", { input });

  it("the Cog interface has the same model", async () => {
    const asked = { messages: key.messages, seed: 1, delay_ms: 0 };
    for (const more of [{}, { max_tokens: 7 }, { stop: ["the"] }, { temperature: 1, top_p: 0.9 }]) {
      const { body } = await predict({ ...asked, ...more });
      const { choices, usage } = await scribe.chat(more);
      expect((body.output as string[]).join("")).toBe(choices[0].message.content);
      expect(body.metrics).toMatchObject({
        input_tokens: usage.prompt_tokens,
        output_tokens: usage.completion_tokens,
      });
    }
  });

  it("the Cog interface takes the fields that clients of OpenAI's API send", async () => {
    const parts = [{ type: "text", text: "Where is the golden key?" }];
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: parts },
    ];
    const nulls = { temperature: null, top_p: null, stop: null, max_tokens: null, seed: 1 };
    const { body } = await predict({ messages, ...nulls, delay_ms: 0, model: "x", stream: true });
    expect((body.output as string[]).join("")).toBe(await scribe.say({}));
    expect((await predict({ messages: [] })).status).toBe(422);
    expect((await predict({ messages, temperature: 3 })).status).toBe(422);
  });
});
