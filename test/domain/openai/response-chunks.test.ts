/** Calls, reasoning and refusals of a chat as items of a response. */
import { expect, test } from "vitest";
import { delta, failed, ID, logOf, outline, tell } from "./response-log.ts";

const call = (index: number, fields: object, id?: string) =>
  delta({ tool_calls: [{ index, ...(id && { id, type: "function" }), function: { ...fields } }] });

const HEX = ID.slice("resp_".length);

test("a call has its name at once, and its arguments in pieces", () => {
  const { types, resource, events } = tell(
    logOf([
      delta({ role: "assistant", content: null }),
      call(0, { name: "weather", arguments: "" }, "call_a"),
      call(0, { arguments: '{"city":' }),
      call(0, { arguments: '"Oslo"}' }),
      delta({}, "tool_calls"),
    ]),
  );
  expect(outline(types).slice(2)).toEqual([
    ...["response.output_item.added", "response.function_call_arguments.delta"],
    ...["response.function_call_arguments.done", "response.output_item.done", "response.completed"],
  ]);
  const [item] = resource.output;
  expect(item).toEqual({
    id: `fc_${HEX}_0`,
    type: "function_call",
    status: "completed",
    call_id: "call_a",
    name: "weather",
    arguments: '{"city":"Oslo"}',
  });
  expect(events.find(({ type }) => type.endsWith("arguments.done"))).toMatchObject({
    name: "weather",
    item_id: `fc_${HEX}_0`,
    output_index: 0,
  });
  expect(events.find(({ type }) => type.endsWith("item.added"))?.item).toMatchObject({
    status: "in_progress",
    call_id: "call_a",
    name: "weather",
    arguments: "",
  });
});

test("several calls after a text are separate items, though their pieces come in turns", () => {
  const { resource, types } = tell(
    logOf([
      delta({ content: "One moment." }),
      call(0, { name: "weather", arguments: "{" }, "call_a"),
      call(1, { name: "time", arguments: "{" }, "call_b"),
      call(0, { arguments: "}" }),
      call(1, { arguments: "}" }),
    ]),
  );
  expect(resource.output).toMatchObject([
    { type: "message", content: [{ text: "One moment." }] },
    { type: "function_call", call_id: "call_a", name: "weather", arguments: "{}" },
    { type: "function_call", call_id: "call_b", name: "time", arguments: "{}" },
  ]);
  // The text item is done when the calls begin.
  const added = types.lastIndexOf("response.output_item.added");
  expect(types.indexOf("response.output_text.done")).toBeLessThan(added);
});

test("calls of a completion have no index, and calls that all have index 0 are told apart", () => {
  const calls = ["a", "b"].map((name) => ({
    id: `call_${name}`,
    type: "function",
    function: { name, arguments: `{"${name}":1}` },
  }));
  const message = { role: "assistant", content: null, tool_calls: calls };
  const whole = tell(logOf([{ choices: [{ index: 0, message, finish_reason: "tool_calls" }] }]));
  const inPieces = tell(logOf(calls.map((one) => delta({ tool_calls: [{ index: 0, ...one }] }))));
  for (const { resource } of [whole, inPieces]) {
    expect(resource.output).toMatchObject([
      { call_id: "call_a", name: "a", arguments: '{"a":1}' },
      { call_id: "call_b", name: "b", arguments: '{"b":1}' },
    ]);
  }
});

test("a call without an ID gets one, and a repeated ID is replaced", () => {
  const { resource } = tell(
    logOf([
      call(0, { name: "a", arguments: "{}" }),
      call(1, { name: "b", arguments: "{}" }, "call_x"),
      call(2, { name: "c", arguments: "{}" }, "call_x"),
    ]),
  );
  const ids = resource.output.map(({ call_id }) => call_id);
  expect(ids).toEqual([`call_${HEX}_0`, "call_x", `call_${HEX}_2`]);
});

test("an answer that is cut off in a call has that call incomplete, and those before it complete", () => {
  const { resource } = tell(
    logOf([
      call(0, { name: "a", arguments: "{}" }, "call_a"),
      call(1, { name: "b", arguments: '{"ci' }, "call_b"),
      delta({}, "length"),
    ]),
  );
  expect(resource.output).toMatchObject([{ status: "completed" }, { status: "incomplete" }]);
});

test.each(["reasoning_content", "reasoning"])(
  "reasoning in %s is an item before the answer",
  (name) => {
    const { types, resource } = tell(
      logOf([
        delta({ [name]: "Let me " }),
        delta({ [name]: "see." }),
        delta({ content: "Four." }),
        delta({}, "stop"),
      ]),
    );
    expect(outline(types).slice(2, 9)).toEqual([
      ...["response.output_item.added", "response.content_part.added"],
      ...["response.reasoning_text.delta", "response.reasoning_text.done"],
      ...["response.content_part.done", "response.output_item.done", "response.output_item.added"],
    ]);
    expect(resource.output).toMatchObject([
      {
        id: `rs_${HEX}_0`,
        type: "reasoning",
        summary: [],
        content: [{ type: "reasoning_text", text: "Let me see." }],
      },
      { id: `msg_${HEX}_1`, type: "message", content: [{ text: "Four." }] },
    ]);
  },
);

test("reasoning after the answer is an item of its own", () => {
  const { resource } = tell(
    logOf([delta({ reasoning: "Hm" }), "Well,", delta({ reasoning: "no" }), "not so."]),
  );
  expect(resource.output.map(({ type }) => type)).toEqual([
    "reasoning",
    "message",
    "reasoning",
    "message",
  ]);
});

test("a refusal is a content part of its own", () => {
  const { types, resource } = tell(
    logOf([delta({ content: "Well. " }), delta({ refusal: "I can" }), delta({ refusal: "not." })]),
  );
  expect(outline(types).slice(2)).toEqual([
    ...["response.output_item.added", "response.content_part.added", "response.output_text.delta"],
    ...["response.output_text.done", "response.content_part.done", "response.content_part.added"],
    ...["response.refusal.delta", "response.refusal.done", "response.content_part.done"],
    ...["response.output_item.done", "response.completed"],
  ]);
  expect(resource.output).toMatchObject([
    {
      content: [
        { type: "output_text", text: "Well. " },
        { type: "refusal", refusal: "I cannot." },
      ],
    },
  ]);
});

test("a failure during a call leaves no item open", () => {
  const log = logOf([call(0, { name: "a", arguments: "{" }, "call_a")], failed("gone"));
  const { types, resource } = tell(log);
  expect(types.slice(-3)).toEqual([
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.failed",
  ]);
  expect(resource.output).toMatchObject([{ status: "incomplete", arguments: "{" }]);
});
