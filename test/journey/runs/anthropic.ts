/** The Anthropic convention by its official client, of containers that have messages or only chats. */
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { sized } from "../../support/sized.ts";
import { USERNAME } from "../support/access.ts";
import {
  anthropicOf,
  asks,
  openAiOf,
  predictionIn,
  type Script,
  tallyOf,
} from "../support/conventions.ts";
import { endOf } from "../support/end.ts";
import { runner, world } from "../support/shared.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;

describe("the Anthropic convention", () => {
  let setup: ReturnType<typeof anthropicOf>;
  let anthropic: Anthropic;

  beforeAll(() => {
    setup = anthropicOf(world.access);
    anthropic = setup.anthropic;
  });
  afterEach(() => setup.wire.settle());

  const weather = betaZodTool({
    name: "weather",
    description: "Tells the weather",
    inputSchema: z.object({ city: z.string() }),
    run: ({ city }) => `sunny in ${city}`,
  });

  const CHATS: [string, string] = ["only chats", ORACLE];

  describe.each(sized([CHATS], [CHATS, ["has messages", NATIVE]]))(
    "a container that %s",
    (_, model) => {
      const asking = (script: Script) => ({ model, max_tokens: 1_000, messages: asks(script) });

      it("a message has the container's text and thoughts, which can be sent back to it", async () => {
        const first = await anthropic.messages.create(asking({ think: ["h", "m"], say: ["Yes"] }));
        expect(first).toMatchObject({
          model,
          content: [
            { type: "thinking", thinking: "hm", signature: expect.stringMatching(/./) },
            { type: "text", text: "Yes" },
          ],
          stop_reason: "end_turn",
          usage: { input_tokens: 1, output_tokens: 3 },
        });
        const id = predictionIn(setup.wire.last);
        const { metrics } = await endOf(world, world.watch(id), "succeeded");
        expect(metrics).toMatchObject({ input_tokens: 1, output_tokens: 3 });
        const next = await anthropic.messages.create({
          model,
          max_tokens: 9,
          messages: [
            { role: "user", content: "Well?" },
            { role: "assistant", content: first.content },
            { role: "user", content: "Why?" },
          ],
        });
        expect(next.content).toMatchObject([{ text: "You said: Why?" }]);
      });

      it("a streamed message brings each piece when the container writes it", async () => {
        const stream = anthropic.messages.stream(
          asking({ think: ["hm"], say: ["one ", "two ", "three"], gate: "end" }),
        );
        const pieces: string[] = [];
        stream.on("text", (text) => {
          pieces.push(text);
          if (text === "three") runner.open(model.replace(`${USERNAME}/`, ""), "end");
        });
        expect(await stream.finalText()).toBe("one two three");
        expect(pieces.join("")).toBe("one two three");
      });

      it.each(sized([true], [true, false]))(
        "a conversation goes a whole round with tools (stream: %s)",
        async (stream) => {
          const calls = ["Rome", "Oslo"].map((city) => ({ name: "weather", arguments: { city } }));
          const asked = { ...asking({ say: ["See"], calls }), tools: [weather], stream };
          const last = await anthropic.beta.messages.toolRunner(asked).runUntilDone();
          expect(last.content).toMatchObject([
            { text: expect.stringMatching(/the tool says sunny/) },
          ]);
        },
      );

      it("a failed call has the container's words, and the error class of its status", async () => {
        for (const [status, Failure] of [
          [400, Anthropic.BadRequestError],
          [500, Anthropic.InternalServerError],
        ] as const) {
          const before = setup.wire.exchanges.length;
          const fail = { status, error: { message: "not so fast", type: "x" } };
          const refused: unknown = await anthropic.messages
            .create(asking({ fail }))
            .catch((e) => e);
          expect(refused).toBeInstanceOf(Failure);
          expect(String(refused)).toContain("not so fast");
          expect(setup.wire.exchanges).toHaveLength(before + 1);
        }
        const stream = anthropic.messages.stream(asking({ say: ["a"], end: "cut" }));
        await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIError);
      });

      it("the container stops when its caller leaves a stream", async () => {
        const { url } = await world.relay();
        const leaver = anthropicOf({ ...world.access, url });
        const mark = `left by ${model}`;
        const asked = asking({ say: ["a", "b"], end: "hang", mark });
        const stream = await leaver.anthropic.messages.create({ ...asked, stream: true });
        for await (const event of stream) if (event.type === "content_block_delta") break;
        await leaver.wire.settle();
        const stopped = { asked: 1, answered: 0, left: 1 };
        await vi.waitFor(
          async () => expect(await tallyOf(openAiOf(world.access), model, mark)).toEqual(stopped),
          { timeout: 10_000 },
        );
      });
    },
  );

  it("a container gets its own model name, and the chat's field for each field of the message", async () => {
    const { content } = await anthropic.messages.create({
      ...{ model: `${ORACLE}:1`, max_tokens: 9, messages: asks({ echo: true }) },
      system: "Be brief",
      stop_sequences: ["\n"],
    });
    const [text] = content.flatMap((block) => (block.type === "text" ? block.text : []));
    expect(JSON.parse(text ?? "")).toEqual({
      model: "oracle-7b-instruct",
      messages: [{ role: "system", content: "Be brief" }, ...asks({ echo: true })],
      max_tokens: 9,
      stop: ["\n"],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("tokens are counted by a container that can, and models are listed page by page", async () => {
    const asked = { model: NATIVE, messages: asks({ say: ["x".repeat(400)] }) };
    expect(await anthropic.messages.countTokens(asked)).toMatchObject({ input_tokens: 1_001 });
    const ids = await Array.fromAsync(anthropic.models.list({ limit: 2 }), ({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining([ORACLE, NATIVE]));
    expect(await anthropic.models.retrieve(ORACLE)).toMatchObject({ id: ORACLE, type: "model" });
    const none = anthropic.models.retrieve("claude-opus-4-1");
    await expect(none).rejects.toBeInstanceOf(Anthropic.NotFoundError);
  });
});
