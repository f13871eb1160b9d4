/** Streamed tool calls of servers that number and name their pieces in their own ways, in all conventions. */
import { describe, expect, test } from "vitest";
import { messageOf } from "../../../src/domain/anthropic/message-stream.ts";
import { CHATS } from "../../../src/domain/openai/chat.ts";
import { wholeOf } from "../../../src/domain/openai/choice-stream.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { delta, logOf, tell } from "./response-log.ts";

type Piece = { index?: number | null; id?: string; name?: string; args?: string };

/** Returns a chunk for each entry; pieces that arrive together are one list. */
const chunks = (deltas: (Piece | Piece[])[]): Json[] =>
  deltas.map((pieces) =>
    delta({
      tool_calls: [pieces].flat().map(({ index, id, name, args }) => ({
        ...(index !== undefined && { index }),
        ...(id !== undefined && { id, type: "function" }),
        function: {
          ...(name !== undefined && { name }),
          ...(args !== undefined && { arguments: args }),
        },
      })),
    }),
  );

const ROME = { name: "weather", args: { city: "Rome" } };
const PARIS = { name: "weather", args: { city: "Paris" } };
const TIME = { name: "time", args: { zone: "UTC" } };

const begin = (more: Piece) => ({ name: "weather", args: "", ...more });
const rome = (more: Piece = {}) => [
  { ...more, args: '{"city":' },
  { ...more, args: '"Rome"}' },
];
const whole = ({ name, args }: typeof ROME | typeof TIME, more: Piece = {}) => ({
  ...more,
  name,
  args: JSON.stringify(args),
});

const SERVERS: [string, (Piece | Piece[])[], (typeof ROME | typeof TIME)[]][] = [
  [
    "the index 0 for all, and ids",
    [begin({ index: 0, id: "a" }), ...rome({ index: 0 }), whole(PARIS, { index: 0, id: "b" })],
    [ROME, PARIS],
  ],
  [
    "the index 0 for all, in pieces that alternate",
    [
      begin({ index: 0, id: "a" }),
      { index: 0, id: "b", name: "time", args: "" },
      { index: 0, id: "a", args: '{"city":' },
      { index: 0, id: "b", args: '{"zone":"UTC"}' },
      { index: 0, id: "a", args: '"Rome"}' },
    ],
    [ROME, TIME],
  ],
  [
    "the index 0 for all, without ids",
    [begin({ index: 0 }), ...rome({ index: 0 }), whole(TIME, { index: 0 })],
    [ROME, TIME],
  ],
  [
    "the index 0 for all, at once",
    [[whole(ROME, { index: 0, id: "a" }), whole(PARIS, { index: 0, id: "b" })]],
    [ROME, PARIS],
  ],
  ["no index", [begin({ id: "a" }), ...rome(), whole(PARIS, { id: "b" })], [ROME, PARIS]],
  [
    "null for an index",
    [begin({ index: null, id: "a" }), ...rome({ index: null }), whole(TIME, { index: null })],
    [ROME, TIME],
  ],
  ["neither index nor ids, at once", [[whole(ROME), whole(ROME), whole(TIME)]], [ROME, ROME, TIME]],
  [
    "neither index nor ids, one after the other",
    [whole(ROME), whole(PARIS), whole(TIME)],
    [ROME, PARIS, TIME],
  ],
  [
    "a new id for each piece",
    [begin({ index: 0, id: "a" }), ...rome().map((one, n) => ({ ...one, index: 0, id: `a${n}` }))],
    [ROME],
  ],
  [
    "a new id for each piece, and its name",
    [
      begin({ index: 0, id: "a" }),
      ...rome({ name: "weather" }).map((one, n) => ({ ...one, index: 0, id: `a${n}` })),
      { index: 1, id: "b", name: "time", args: '{"zone":' },
      { index: 1, id: "c", name: "time", args: '"UTC"}' },
    ],
    [ROME, TIME],
  ],
  [
    "its id and name in each piece, and an empty one at the end",
    [
      begin({ index: 0, id: "a" }),
      ...rome({ index: 0, id: "a", name: "weather" }),
      begin({ index: 0, id: "a" }),
    ],
    [ROME],
  ],
  [
    "the same id for different calls",
    [whole(ROME, { index: 0, id: "call_0" }), whole(TIME, { index: 1, id: "call_0" })],
    [ROME, TIME],
  ],
  [
    "a name that comes after the id",
    [{ index: 0, id: "a" }, begin({ index: 0 }), ...rome({ index: 0 })],
    [ROME],
  ],
];

describe.each(SERVERS)("calls with %s", (_, deltas, calls) => {
  const outputs = chunks(deltas);

  test("calls in a chat are told apart", () => {
    const head = { id: "chatcmpl-1", created: 1, model: "ada/chat" };
    expect(wholeOf(CHATS, head, outputs, null)).toMatchObject({
      choices: [
        {
          message: {
            tool_calls: calls.map(({ name, args }) => ({
              function: { name, arguments: JSON.stringify(args) },
            })),
          },
        },
      ],
    });
  });

  test("calls in a response are told apart, and have their own IDs", () => {
    const { output } = tell(logOf(outputs)).resource;
    expect(output).toMatchObject(
      calls.map(({ name, args }) => ({
        type: "function_call",
        name,
        arguments: JSON.stringify(args),
      })),
    );
    expect(new Set(output.map(({ call_id }) => call_id)).size).toBe(calls.length);
  });

  test("calls in a message are told apart, and have their own IDs", () => {
    const { content } = messageOf({ id: "msg_1", request: { model: "ada/chat" } }, outputs, null);
    expect(content).toMatchObject(
      calls.map(({ name, args: input }) => ({ type: "tool_use", name, input })),
    );
    const ids = [content].flat().map((block) => Object(block).id);
    expect(new Set(ids).size).toBe(calls.length);
  });
});
