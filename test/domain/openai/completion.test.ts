/** Completions of any model in the form of OpenAI's API. */
import { describe, expect, test } from "vitest";
import {
  ChoiceStream,
  ChoicesAssembler,
  wholeOf,
} from "../../../src/domain/openai/choice-stream.ts";
import { COMPLETIONS, completionInputOf } from "../../../src/domain/openai/completion.ts";
import { TranslationFailed } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Metrics } from "../../../src/protocol/event.ts";
import { expectCompletion, expectCompletionChunk } from "../../published/validate.ts";

const HEAD = { id: "cmpl-1", created: 1, model: "ada/poet" };
const OBJECT = { ...HEAD, object: "text_completion" };
const METRICS = { input_tokens: 4, output_tokens: 2 };
const USAGE = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 };

function whole(
  outputs: Json[],
  { metrics = null, limit }: { metrics?: Metrics | null; limit?: number } = {},
) {
  const completion = wholeOf(COMPLETIONS, { ...HEAD, limit }, outputs, metrics);
  expectCompletion(completion);
  return completion;
}

function streamed(outputs: Json[], includeUsage = false, limit?: number) {
  const stream = new ChoiceStream(COMPLETIONS, { ...HEAD, includeUsage, limit });
  const chunks = outputs.flatMap((data) => stream.take({ event: "output", data }));
  chunks.push(...stream.take({ event: "done", data: { status: "succeeded", metrics: METRICS } }));
  for (const chunk of chunks) expectCompletionChunk(chunk);
  return chunks;
}

const choice = (text: string, finish_reason: string | null = null, index = 0) => ({
  index,
  text,
  logprobs: null,
  finish_reason,
});

/** A piece of a stream in which vLLM sends two choices with logprobs. */
const piece = (text: string, finish_reason: string | null, index = 0): Json => ({
  id: "cmpl-theirs",
  object: "text_completion",
  created: 9,
  model: "served",
  choices: [
    {
      index,
      text,
      logprobs: {
        tokens: [text],
        token_logprobs: [-0.5],
        top_logprobs: [{ [text]: -0.5 }],
        text_offset: [0],
      },
      finish_reason,
      stop_reason: null,
    },
  ],
  usage: null,
});

describe("whole", () => {
  test("a text, whole or in pieces, becomes the completion, with the usage of the prediction", () => {
    const expected = { ...OBJECT, choices: [choice("Hello", "stop")], usage: USAGE };
    expect(whole(["Hello"], { metrics: METRICS })).toEqual(expected);
    expect(whole(["He", "", "llo"], { metrics: METRICS })).toEqual(expected);
    expect(whole([["He", ["llo"], null]], { metrics: METRICS })).toEqual(expected);
    expect(whole([])).toMatchObject({ choices: [choice("", "stop")] });
  });

  test("a text that reached the limit has the finish reason length", () => {
    expect(whole(["Hello"], { metrics: METRICS, limit: 2 })).toMatchObject({
      choices: [{ finish_reason: "length" }],
    });
  });

  test("a server's answer stays unchanged except for its name", () => {
    const theirs = { ...OBJECT, id: "theirs", model: "served", kv_transfer_params: { port: 1 } };
    const answer = { ...theirs, choices: [choice("Hello", "length")], usage: USAGE };
    expect(whole([answer])).toEqual({ ...answer, ...HEAD });
  });

  test("a server's stream is assembled: texts are joined and logprobs are concatenated", () => {
    const pieces = [piece("a", null), piece("x", "abort", 1), piece("b", "eos_token")];
    const usage: Json = { id: "cmpl-theirs", choices: [], usage: USAGE };
    const expected = {
      choices: [
        {
          ...choice("ab", "stop"),
          logprobs: {
            tokens: ["a", "b"],
            token_logprobs: [-0.5, -0.5],
            top_logprobs: [{ a: -0.5 }, { b: -0.5 }],
            text_offset: [0, 0],
          },
        },
        { index: 1, text: "x", finish_reason: "length" },
      ],
      usage: USAGE,
    };
    expect(whole([...pieces, usage])).toMatchObject(expected);
    // The runner assembles the stream when the caller wants none.
    const assembler = new ChoicesAssembler(COMPLETIONS, "");
    for (const event of [...pieces, usage]) assembler.take(event);
    expect(assembler.value).toMatchObject({ ...expected, id: "cmpl-theirs", model: "served" });
  });

  test.each([
    [5],
    [{ text: "Hello" }],
    [{ choices: [{ text: 5 }] }],
    [{ choices: [{ index: -1 }] }],
  ])("the output %j is no completion", (output) => {
    expect(() => whole([output])).toThrow(TranslationFailed);
  });
});

describe("streamed", () => {
  test("each piece becomes a chunk, and the last has the finish reason", () => {
    const chunks = [choice("He"), choice("llo"), choice("", "stop")];
    expect(streamed(["He", "llo"])).toEqual(chunks.map((one) => ({ ...OBJECT, choices: [one] })));
    expect(streamed(["He"], false, 2).at(-1)).toMatchObject({ choices: [choice("", "length")] });
  });

  test("usage comes last if it was requested", () => {
    const chunks = streamed(["He", { choices: [], usage: USAGE }], true);
    expect(chunks.map(({ usage }) => usage)).toEqual([null, null, USAGE]);
    expect(chunks.at(-1)).toMatchObject({ ...OBJECT, choices: [] });
    expect(streamed(["He", { choices: [], usage: USAGE }])[0]).not.toHaveProperty("usage");
  });

  test("a server's finish reason is kept, an empty one counts as none, and none comes twice", () => {
    const outputs = [
      ["a", ""],
      ["b", "length"],
      ["", "stop"],
    ].map(
      ([text, finish_reason]): Json => ({
        choices: [{ text: text ?? "", finish_reason: finish_reason ?? "" }],
      }),
    );
    expect(streamed(outputs).map(({ choices: [one] }) => one?.finish_reason)).toEqual([
      null,
      "length",
      null,
    ]);
  });
});

describe("the input of a Cog model", () => {
  const text = { type: "string" };
  const lists = { anyOf: [text, { type: "array", items: text }] };
  const inputOf = (body: { [name: string]: Json }, properties: { [name: string]: Json }) =>
    completionInputOf(body, { type: "object", properties });

  test("the input of a Cog model has one prompt and one stop sequence as text, and no null fields", () => {
    const body = { prompt: ["a"], stop: ["."], max_tokens: null, seed: 3 };
    expect(inputOf(body, { prompt: text, stop: text })).toEqual({
      prompt: "a",
      stop: ".",
      seed: 3,
    });
    expect(inputOf(body, { prompt: text })).toEqual({ prompt: "a", stop: ".", seed: 3 });
  });

  test("the input of a Cog model has lists where the model takes them", () => {
    const body = { prompt: ["a"], stop: [".", "!"] };
    expect(inputOf(body, { prompt: lists, stop: lists })).toEqual(body);
    expect(inputOf({ prompt: "a", stop: ["."] }, { prompt: text, stop: lists })).toEqual({
      prompt: "a",
      stop: ["."],
    });
  });

  test.each([[["a", "b"]], [[1]], [[[1, 2]]]])(
    "the input of a Cog model cannot have the prompt %j",
    (prompt) => {
      expect(inputOf({ prompt }, { prompt: text })).toBeUndefined();
    },
  );
});
