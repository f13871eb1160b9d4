/** The OpenAI convention by its official client: what passes between the client, a runner and a container. */
import OpenAI from "openai";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { sized } from "../../support/sized.ts";
import { USERNAME } from "../support/access.ts";
import {
  asks,
  openAiOf,
  predictionIn,
  type Script,
  type Setup,
  tallyOf,
  told,
} from "../support/conventions.ts";
import { endOf } from "../support/end.ts";
import { runner, world } from "../support/shared.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;
const RECITER = `${USERNAME}/reciter`;
/** Patience with a machine with two busy cores. */
const PATIENCE = { timeout: 20_000 };

describe("the OpenAI convention", () => {
  let setup: Setup;
  let openai: OpenAI;

  beforeAll(() => {
    setup = openAiOf(world.access);
    openai = setup.openai;
  });
  afterEach(() => setup.wire.settle());

  /** Checks the end of the last call's prediction. */
  const ended = () => endOf(world, world.watch(predictionIn(setup.wire.last)), "succeeded");

  const parameters = { type: "object", properties: { city: { type: "string" } } };
  const city = z.object({ city: z.string() });

  describe("a chat", () => {
    it("a container gets every field of a chat as it came, and the model name that it serves", async () => {
      const body = {
        messages: [{ role: "system" as const, content: "Be brief" }, ...asks({ echo: true })],
        temperature: 0.25,
        seed: 7,
        stop: ["\n"],
      };
      const answer = await openai.chat.completions.create({ model: `${ORACLE}:1`, ...body });
      expect(answer).toMatchObject({ model: `${ORACLE}:1`, usage: { prompt_tokens: 2 } });
      expect(JSON.parse(answer.choices[0]?.message.content ?? "")).toEqual({
        ...body,
        model: "oracle-7b-instruct",
        // The runner adds the stream and its usage: a server notices only on a stream that its caller has left.
        stream: true,
        stream_options: { include_usage: true },
      });
      const { metrics, input } = await ended();
      expect(metrics).toMatchObject({ input_tokens: 2, output_tokens: 1 });
      expect(input).toMatchObject(body);
    });

    it("a streamed chat brings each piece when the container writes it", async () => {
      const stream = openai.chat.completions.stream({
        model: ORACLE,
        n: 2,
        logprobs: true,
        messages: asks({ think: ["h", "m"], say: ["one ", "two ", "three"], gate: "end" }),
      });
      stream.on("content", (_, text) => {
        if (text === "one two three") runner.open("oracle", "end");
      });
      const { choices } = await stream.finalChatCompletion();
      expect(choices).toMatchObject([
        { message: { content: "one two three" }, finish_reason: "stop" },
        { message: { content: "one 1two 1three1" }, logprobs: { content: { length: 3 } } },
      ]);
      await ended();
    });

    it.each(sized([true], [true, false]))(
      "a chat goes a whole round with tools in parallel (stream: %s)",
      async (stream) => {
        const calls = ["Rome", "Oslo"].map((name) => ({
          name: "weather",
          arguments: { city: name },
        }));
        const weather = {
          name: "weather",
          description: "Tells the weather",
          parameters,
          parse: (text: string) => city.parse(JSON.parse(text)),
          function: (asked: z.infer<typeof city>) => `sunny in ${asked.city}`,
        };
        const tools = [{ type: "function" as const, function: weather }];
        const asked = { model: ORACLE, messages: asks({ calls }), tools };
        const runner = stream
          ? openai.chat.completions.runTools({ ...asked, stream })
          : openai.chat.completions.runTools(asked);
        expect(await runner.finalContent()).toBe("You said: the tool says sunny in Oslo");
      },
    );
  });

  const TRANSLATED: [string, string] = ["translated", ORACLE];

  describe.each(sized([TRANSLATED], [TRANSLATED, ["native", NATIVE]]))(
    "%s responses",
    (_, model) => {
      it("a response is stored, and lists its input", async () => {
        const input = told({ say: ["Rain", " at", " noon"], think: ["hm"] });
        const response = await openai.responses.create({ model, input, instructions: "Be brief" });
        expect(response).toMatchObject({
          ...{
            model,
            status: "completed",
            output_text: "Rain at noon",
            usage: { output_tokens: 4 },
          },
          output: [{ type: "reasoning" }, { type: "message" }],
        });
        await ended();
        expect(await openai.responses.retrieve(response.id)).toEqual(response);
        const items = await Array.fromAsync(openai.responses.inputItems.list(response.id));
        expect(items).toMatchObject([
          { role: "user", content: [{ type: "input_text", text: input }] },
        ]);
      });

      it("a response remembers the previous turns and their tools", async () => {
        const calls = ["Rome", "Oslo"].map((name) => ({
          name: "weather",
          arguments: { city: name },
        }));
        const tools = [{ type: "function" as const, name: "weather", strict: false, parameters }];
        const first = await openai.responses
          .stream({ model, input: told({ say: ["Let me see."], calls }), tools })
          .finalResponse();
        const called = first.output.filter((item) => item.type === "function_call");
        expect(called.map((call) => JSON.parse(call.arguments))).toEqual([
          { city: "Rome" },
          { city: "Oslo" },
        ]);
        const second = await openai.responses.create({
          model,
          tools,
          previous_response_id: first.id,
          input: called.map(({ call_id }, n) => ({
            type: "function_call_output" as const,
            call_id,
            output: `sunny ${n}`,
          })),
        });
        expect(second.output_text).toBe("You said: the tool says sunny 1");
        const third = await openai.responses.create({
          model,
          previous_response_id: second.id,
          input: told({ echo: true }),
        });
        for (const text of ["Let me see.", "sunny 0", "the tool says sunny 1"])
          expect(third.output_text).toContain(text);
      });

      it("a response in the background goes on without its reader, and is read again from anywhere", async () => {
        const say = Array.from({ length: 40 }, (_, n) => `w${n} `);
        const stream = await openai.responses.create({
          model,
          background: true,
          stream: true,
          input: told({ say, every: 15 }),
        });
        let id = "";
        for await (const event of stream) {
          if (event.type === "response.created") id = event.response.id;
          break;
        }
        // The response is still being written while it is read again.
        const live = await Array.fromAsync(await openai.responses.retrieve(id, { stream: true }));
        expect(live.map(({ sequence_number }) => sequence_number)).toEqual(live.map((_, n) => n));
        expect(live.at(-1)).toMatchObject({ type: "response.completed" });
        const from = { stream: true, starting_after: 20 } as const;
        const rest = await Array.fromAsync(await openai.responses.retrieve(id, from));
        expect(rest).toEqual(live.slice(21));
        const helper = openai.responses.stream({ response_id: id, starting_after: 20 });
        expect((await helper.finalResponse()).output_text).toBe(say.join(""));
      });

      it("a response in a conversation goes on from its items", async () => {
        const { id } = await openai.conversations.create({
          items: [{ type: "message", role: "developer", content: "Be brief" }],
        });
        const asked = { model, conversation: id, input: told({ say: ["Rain"] }) };
        expect(await openai.responses.create(asked)).toMatchObject({ output_text: "Rain" });
        const input = told({ echo: true });
        const { output_text } = await openai.responses.create({ model, conversation: id, input });
        for (const text of ["Be brief", "Rain"]) expect(output_text).toContain(text);
        const items = openai.conversations.items.list(id, { order: "asc", limit: 2 });
        const roles = await Array.fromAsync(items, (item) =>
          "role" in item ? item.role : item.type,
        );
        expect(roles).toEqual(["developer", "user", "assistant", "user", "assistant"]);
      });
    },
  );

  describe("a caller who leaves", () => {
    const hang = (mark: string): Script => ({ say: ["a", "b"], end: "hang", mark });
    const ways: [string, (client: OpenAI, mark: string, signal: AbortSignal) => Promise<void>][] = [
      [
        "a streamed chat",
        async ({ chat }, mark) => {
          const messages = asks(hang(mark));
          const stream = await chat.completions.create({ model: ORACLE, messages, stream: true });
          for await (const chunk of stream) if (chunk.choices[0]?.delta.content === "b") break;
        },
      ],
      [
        "a streamed response",
        async ({ responses }, mark) => {
          const input = told(hang(mark));
          const stream = await responses.create({ model: ORACLE, input, stream: true });
          for await (const event of stream) if (event.type === "response.output_text.delta") break;
        },
      ],
      [
        "a streamed completion",
        async ({ completions }, mark) => {
          const asked = { model: ORACLE, prompt: told(hang(mark)), stream: true } as const;
          for await (const _ of await completions.create(asked)) break;
        },
      ],
      [
        "a plain chat",
        async ({ chat }, mark, signal) => {
          const asked = { model: ORACLE, messages: asks(hang(mark)) };
          await expect(chat.completions.create(asked, { signal })).rejects.toThrow("aborted");
        },
      ],
    ];

    it.each(ways.slice(0, sized(1, ways.length)))(
      "the container stops when its caller leaves %s",
      async (mark, leave) => {
        const { url } = await world.relay();
        const leaver = openAiOf({ ...world.access, url });
        const leaving = new AbortController();
        const left = leave(leaver.openai, mark, leaving.signal);
        const tally = (expected: object) =>
          vi.waitFor(
            async () => expect(await tallyOf(setup, ORACLE, mark)).toMatchObject(expected),
            PATIENCE,
          );
        await tally({ asked: 1 });
        leaving.abort();
        await left;
        await tally({ asked: 1, answered: 0, left: 1 });
        await leaver.wire.settle();
      },
    );
  });

  describe("a failure", () => {
    const fail = (status: number) => ({ fail: { status, error: { message: "too hot" } } });

    const failures: [Script, new (...from: never[]) => Error, string, number][] = [
      [fail(400), OpenAI.BadRequestError, "too hot", 1],
      [{ say: ["a"], end: "error" }, OpenAI.APIError, "the GPU has melted", 1],
      [fail(429), OpenAI.RateLimitError, "too hot", 3],
      [fail(500), OpenAI.InternalServerError, "too hot", 1],
      [{ say: ["a"], end: "crash" }, OpenAI.APIError, "the oracle has seen too much", 1],
    ];

    it.each(failures.slice(0, sized(2, failures.length)))(
      "a stream of %j has the container's words, and the client tries as often as it should",
      async (script, kind, words, tries) => {
        const before = setup.wire.exchanges.length;
        const asked = { model: ORACLE, messages: asks(script), stream: true } as const;
        const refused = openai.chat.completions
          .create(asked)
          .then((stream) => Array.fromAsync(stream));
        const error: Error = await refused.then(
          () => expect.fail("it succeeded"),
          (reason) => reason,
        );
        expect(error).toBeInstanceOf(kind);
        expect(error.message).toContain(words);
        expect(setup.wire.exchanges).toHaveLength(before + tries);
      },
    );

    it("a body that does not fit, and a token that is not valid, have the client's errors", async () => {
      const wrong = openai.embeddings.create({ model: ORACLE, input: [], dimensions: 0 });
      await expect(wrong).rejects.toBeInstanceOf(OpenAI.UnprocessableEntityError);
      const none = openai.responses.create({ model: `${USERNAME}/none`, input: "x" });
      await expect(none).rejects.toBeInstanceOf(OpenAI.NotFoundError);
      const { openai: stranger } = openAiOf({ ...world.access, token: "aus_wrong" });
      await expect(stranger.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    });
  });

  describe("a Cog model", () => {
    const recites = (...outputs: unknown[]) => ({
      model: RECITER,
      messages: [{ role: "user" as const, content: JSON.stringify(outputs) }],
    });

    it("a Cog model answers a chat and a response in text, with its own usage", async () => {
      const asked = recites("Once", " upon", " a time");
      const plain = await openai.chat.completions.create(asked);
      const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
      for (const { choices } of [plain, streamed])
        expect(choices).toMatchObject([
          { message: { content: "Once upon a time" }, finish_reason: "stop" },
        ]);
      const input = asked.messages[0]?.content ?? "";
      const response = await openai.responses.create({ model: RECITER, input });
      expect(response).toMatchObject({ output_text: "Once upon a time" });
      expect([plain.usage?.completion_tokens, response.usage?.output_tokens]).toEqual([3, 3]);
    });
  });
});
