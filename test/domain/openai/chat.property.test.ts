/** Invariants of a chat whose text comes in any pieces of any kind. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { CHATS } from "../../../src/domain/openai/chat.ts";
import { ChoiceStream, wholeOf } from "../../../src/domain/openai/choice-stream.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { chatCompletion } from "../../../src/protocol/openai/chat.ts";
import { expectChatChunk, expectChatCompletion } from "../../published/validate.ts";
import { HEAD } from "./chat-samples.ts";

interface Piece {
  index: number;
  text: string;
}

const reason = fc.constantFrom(undefined, null, "", "stop", "length", "eos_token");
const role = fc.constantFrom(undefined, null, "assistant", "model");
const text = fc.string({ unit: "binary", maxLength: 5 });
const present = (fields: { [name: string]: Json | undefined }): { [name: string]: Json } =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );

const said = fc
  .record({ index: fc.nat(2), text, role, reason })
  .map(({ index, text, role, reason }) => ({
    piece: { index, text },
    message: present({ role, content: text }),
    choice: present({ index, finish_reason: reason }),
  }));

/** Returns an output with the pieces that it has. */
const saying = (data: Json, pieces: Piece[]) => ({ data, pieces });

const output = fc.oneof(
  text.map((data) => saying(data, [{ index: 0, text: data }])),
  said.map(({ piece, message, choice }) =>
    saying({ choices: [{ ...choice, delta: message }] }, [piece]),
  ),
  fc
    .uniqueArray(said, { minLength: 1, maxLength: 3, selector: ({ piece }) => piece.index })
    .map((all) => {
      const choices = all.map(({ message, choice }) => ({ ...choice, message }));
      return saying(
        { choices },
        all.map(({ piece }) => piece),
      );
    }),
  fc.constant(saying({ choices: [], usage: { prompt_tokens: 2 } }, [])),
);

test("each choice has its content, one role and one finish reason, streamed or whole", () => {
  fc.assert(
    fc.property(fc.array(output, { maxLength: 12 }), fc.boolean(), (outputs, includeUsage) => {
      const all = outputs.map(({ data }) => data);
      const stream = new ChoiceStream(CHATS, { ...HEAD, includeUsage });
      const chunks = [
        ...all.flatMap((data) => stream.take({ event: "output", data })),
        ...stream.take({ event: "done", data: { status: "succeeded", metrics: null } }),
      ];
      for (const chunk of chunks) expectChatChunk(chunk);
      expect(chunks.filter(({ usage }) => usage)).toHaveLength(includeUsage ? 1 : 0);

      const completion = wholeOf(CHATS, HEAD, all, null);
      expectChatCompletion(completion);
      const { choices } = chatCompletion.parse(completion);
      const pieces = outputs.flatMap((one) => one.pieces);
      const indexes = new Set(pieces.map(({ index }) => index));
      expect(choices.map(({ index }) => index)).toEqual(
        [...(indexes.size > 0 ? indexes : [0])].sort(),
      );
      for (const { index, message, finish_reason } of choices) {
        const own = chunks.flatMap((one) => one.choices.filter((choice) => choice.index === index));
        const expected = pieces.filter((piece) => piece.index === index).map(({ text }) => text);
        expect(message.content).toBe(expected.join(""));
        expect(own.map(({ delta }) => delta.content ?? "").join("")).toBe(expected.join(""));
        expect(own.map(({ delta }) => delta.role)).toEqual(
          own.map((_, place) => (place === 0 ? "assistant" : undefined)),
        );
        expect(own.map((one) => one.finish_reason).filter((one) => one !== null)).toEqual([
          finish_reason,
        ]);
      }
    }),
  );
});

const called = z.object({
  choices: z.tuple([
    z.object({
      finish_reason: z.literal("tool_calls"),
      message: z.object({
        content: z.null(),
        tool_calls: z.array(
          z.object({ id: z.string().min(1), function: z.object({ arguments: z.string() }) }),
        ),
      }),
    }),
  ]),
});

test("the arguments of each call are joined, however they are cut and mixed", () => {
  const pieces = fc.array(fc.record({ index: fc.nat(2), text }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(pieces, (pieces) => {
      const outputs = pieces.map(({ index, text }) => ({
        choices: [{ delta: { tool_calls: [{ index, function: { arguments: text } }] } }],
      }));
      const completion = wholeOf(CHATS, HEAD, outputs, null);
      expectChatCompletion(completion);
      const { tool_calls } = called.parse(completion).choices[0].message;
      const indexes = [...new Set(pieces.map(({ index }) => index))].sort();
      expect(tool_calls.map((call) => call.function.arguments)).toEqual(
        indexes.map((index) =>
          pieces
            .filter((piece) => piece.index === index)
            .map(({ text }) => text)
            .join(""),
        ),
      );
      expect(new Set(tool_calls.map(({ id }) => id)).size).toBe(indexes.length);
    }),
  );
});
