/** Invariants of a message whose output comes in any pieces of any kind. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { callDelta, delta, told } from "./message-log.ts";

const piece = fc.string({ unit: "binary", maxLength: 5 });

interface Run {
  type: "text" | "thinking";
  text: string;
}

interface Said extends Run {
  output: Json;
}

const said = fc.oneof(
  piece.map((text): Said => ({ output: text, type: "text", text })),
  piece.map((text): Said => ({ output: delta({ content: text }), type: "text", text })),
  piece.map((text): Said => ({ output: delta({ refusal: text }), type: "text", text })),
  piece.map((text): Said => ({ output: delta({ reasoning: text }), type: "thinking", text })),
  piece.map(
    (text): Said => ({
      output: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      type: "text",
      text,
    }),
  ),
);

test("all output is in the blocks in its order, whole and streamed", () => {
  fc.assert(
    fc.property(fc.array(said, { maxLength: 12 }), (all) => {
      const { content } = told(all.map(({ output }) => output)).message;
      const runs: Run[] = [];
      for (const { type, text } of all.filter(({ text }) => text !== "")) {
        const last = runs.at(-1);
        if (last?.type === type) last.text += text;
        else runs.push({ type, text });
      }
      const blocks = content.flatMap((block): Run[] => {
        if (block.type === "text") return [{ type: block.type, text: block.text }];
        return block.type === "thinking" ? [{ type: block.type, text: block.thinking }] : [];
      });
      expect(blocks.filter(({ text }) => text !== "")).toEqual(runs);
    }),
  );
});

test("an empty piece of another kind does not split a block", () => {
  const empty = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "" } };
  const outputs = [delta({ reasoning: "a" }), empty, delta({ reasoning: "b" })];
  expect(told(outputs).message.content).toMatchObject([{ type: "thinking", thinking: "ab" }]);
});

const cuts = fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 6 });
const call = fc.record({ input: fc.dictionary(fc.string(), fc.json()), cuts });

test("the inputs of calls are each joined, however they are cut and mixed", () => {
  const calls = fc.array(call, { minLength: 1, maxLength: 3 });
  const turns = fc.infiniteStream(fc.nat(2));
  fc.assert(
    fc.property(calls, turns, (calls, turns) => {
      const waiting = calls.map(({ input, cuts }, index) => [
        callDelta(index, { id: `call_${index}`, name: `f${index}` }),
        ...cut(JSON.stringify(input), cuts).map((json) => callDelta(index, { json })),
      ]);
      const outputs: Json[] = [];
      for (const turn of turns) {
        const left = waiting.filter(({ length }) => length > 0);
        const next = left[turn % left.length]?.shift();
        if (next === undefined) break;
        outputs.push(next);
      }
      const { content, stop_reason } = told([...outputs, delta({}, "tool_calls")]).message;
      expect(stop_reason).toBe("tool_use");
      const inputs = content.flatMap((block): [string, string, unknown][] =>
        block.type === "tool_use" ? [[block.name, block.id, block.input]] : [],
      );
      // Inputs are sorted by name, because an input with its own `toString` cannot be compared as text.
      const sorted = inputs.toSorted(([a], [b]) => (a < b ? -1 : 1));
      expect(sorted).toEqual(
        calls.map(({ input }, index) => [`f${index}`, `call_${index}`, { ...input }]),
      );
    }),
  );
});

/** Cuts a text into pieces of these sizes, and the rest of it. */
function cut(text: string, sizes: number[]): string[] {
  let from = 0;
  const pieces = sizes.map((size) => {
    from += size;
    return text.slice(from - size, from);
  });
  return [...pieces, text.slice(from)];
}
