/** Containers with a responses endpoint of their own: streams of vLLM and llama.cpp, whole answers. */
import { expect, test } from "vitest";
import { delta, done, failed, ID, logOf, outline, tell } from "./response-log.ts";
import { type Event, ends, LLAMA, message, response, text, VLLM } from "./response-servers.ts";

/** Returns our ID of the item at this place, which replaces the container's. */
const own = (prefix: string, place: number) => `${prefix}_${ID.replace("resp_", "")}_${place}`;

test("a response of vLLM has our head, its items and every field that clients need", () => {
  const { events, types, resource } = tell(logOf(VLLM), { metadata: { a: "b" } });
  expect(outline(types)).toEqual([
    ...["response.created", "response.in_progress", "response.output_item.added"],
    ...["response.content_part.added", "response.reasoning_text.delta"],
    ...["response.reasoning_text.done", "response.content_part.done", "response.output_item.done"],
    ...["response.output_item.added", "response.content_part.added", "response.output_text.delta"],
    ...["response.output_text.done", "response.content_part.done", "response.output_item.done"],
    ...["response.output_item.added", "response.function_call_arguments.delta"],
    ...["response.function_call_arguments.done", "response.output_item.done", "response.completed"],
  ]);
  expect(resource).toMatchObject({
    id: expect.not.stringContaining("upstream"),
    model: "demo/story",
    created_at: 1_790_000_000,
    metadata: { a: "b" },
    usage: { input_tokens: 5, input_tokens_details: { cached_tokens: 3 }, output_tokens: 7 },
    output: [
      { id: own("rs", 0), type: "reasoning", content: [{ text: "Let me see." }] },
      { id: own("msg", 1), type: "message", content: [{ text: "Four." }] },
      { id: own("fc", 2), type: "function_call", status: "completed", arguments: "{}" },
    ],
  });
  expect(events.find(({ type }) => type.endsWith("arguments.done"))?.name).toBe("sum");
});

test("a response of llama.cpp has no indexes, and calls without IDs", () => {
  const { resource } = tell(logOf(LLAMA));
  expect(resource.output).toMatchObject([
    { id: own("rs", 0), content: [{ text: "Let me see." }] },
    { id: own("msg", 1), content: [{ text: "Four." }] },
    { type: "function_call", call_id: "fc_a", arguments: '{"a":1}', status: "completed" },
    { type: "function_call", call_id: "fc_b", arguments: '{"b":1}', status: "completed" },
  ]);
});

test("the end is the log's: a response that its container completes may have failed or been canceled", () => {
  expect(tell(logOf(VLLM, failed("The stream broke off."))).types.at(-1)).toBe("response.failed");
  const cancelled = tell(logOf(VLLM, done({ status: "canceled" })));
  expect(cancelled.types.at(-1)).toBe("response.output_item.done");
  expect(cancelled.resource.status).toBe("cancelled");
});

test("a stream that breaks off leaves open items incomplete", () => {
  const { resource } = tell(logOf(VLLM.slice(0, 12), failed("gone")));
  expect(resource.output).toMatchObject([
    { type: "reasoning", status: "completed" },
    { type: "message", status: "incomplete", content: [{ text: "Fo" }] },
  ]);
});

test("an incomplete response has its reason if OpenAI's API knows it", () => {
  const end = (reason: string) => ends("incomplete", { incomplete_details: { reason } });
  const log = (reason: string) => logOf([...VLLM.slice(0, 12), end(reason)]);
  const { types, resource } = tell(log("max_output_tokens"));
  expect(types.at(-1)).toBe("response.incomplete");
  expect(resource).toMatchObject({
    incomplete_details: { reason: "max_output_tokens" },
    output: [{}, { status: "incomplete" }],
  });
  expect(tell(log("boredom")).resource).toMatchObject({
    status: "incomplete",
    incomplete_details: null,
  });
});

test("a response that fails by the container's account is failed", () => {
  const error = { code: "rate_limit_exceeded", message: "Too much." };
  const { types, resource } = tell(logOf([ends("failed", { error })]));
  expect(types).toEqual(["response.created", "response.in_progress", "response.failed"]);
  expect(resource.error).toMatchObject(error);
});

test("a whole response sends all of its items one after the other", () => {
  const url = {
    type: "url_citation",
    ...{ url: "https://example.com/", title: "A page", start_index: 0, end_index: 4 },
  };
  const output: Event[] = [
    {
      id: "rs_1",
      type: "reasoning",
      summary: [{ type: "summary_text", text: "Counted." }],
      content: [{ type: "reasoning_text", text: "Hm" }],
      encrypted_content: "sealed",
    },
    {
      ...message("Four."),
      content: [
        { ...text("Four."), annotations: [url] },
        { type: "refusal", refusal: "No." },
      ],
    },
    { type: "function_call", call_id: "call_1", name: "sum", arguments: '{"a":1}' },
  ];
  const { types, resource } = tell(logOf([response({ output, reasoning: { effort: "high" } })]));
  expect(outline(types).slice(2)).toEqual([
    ...["response.output_item.added", "response.content_part.added"],
    ...["response.reasoning_text.delta", "response.reasoning_text.done"],
    ...["response.content_part.done", "response.output_item.done", "response.output_item.added"],
    ...["response.content_part.added", "response.output_text.delta"],
    ...["response.output_text.annotation.added", "response.output_text.done"],
    ...["response.content_part.done", "response.content_part.added", "response.refusal.delta"],
    ...["response.refusal.done", "response.content_part.done", "response.output_item.done"],
    ...["response.output_item.added", "response.function_call_arguments.delta"],
    ...["response.function_call_arguments.done", "response.output_item.done", "response.completed"],
  ]);
  const told = output.map(({ id: _, ...item }) => item);
  expect(resource).toMatchObject({ output: told, reasoning: { effort: "high", summary: null } });
});

test("an item that its container did not finish is incomplete, streamed or whole", () => {
  const cut = { ...message("Fo"), status: "incomplete" };
  const fields = { output: [cut], incomplete_details: { reason: "max_output_tokens" } };
  const streamed = { type: "response.output_item.done", item: cut };
  for (const outputs of [[streamed], [ends("incomplete", fields)]]) {
    const { resource } = tell(logOf(outputs));
    expect(resource.output).toMatchObject([{ status: "incomplete", content: [{ text: "Fo" }] }]);
  }
});

test("streamed items stay, and items that only the end has are added", () => {
  const call = { type: "function_call", call_id: "call_1", name: "sum", arguments: "{}" };
  const events = [...VLLM.slice(9, 16), ends("completed", { output: [message("Four."), call] })];
  const { resource, types } = tell(logOf(events));
  expect(resource.output).toMatchObject([
    { id: own("msg", 0), content: [{ text: "Four." }] },
    call,
  ]);
  expect(types.filter((type) => type === "response.output_item.added")).toHaveLength(2);
});

/** Returns two simultaneous calls whose pieces come in turns and name their call with `whose`. */
const inTurns = (whose: (n: number) => Event): Event[] => {
  const both = (make: (n: number) => Event) => [0, 1].map((n) => ({ ...make(n), ...whose(n) }));
  return [
    ...both((n) => ({
      type: "response.output_item.added",
      item: { type: "function_call", id: `fc_${n}`, call_id: `call_${n}`, name: "sum" },
    })),
    ...both((n) => ({ type: "response.function_call_arguments.delta", delta: `{"${n}"` })),
    ...both(() => ({ type: "response.function_call_arguments.delta", delta: ":1}" })),
  ];
};

test.each([
  ["id", (n: number): Event => ({ item_id: `fc_${n}` })],
  ["place", (n: number): Event => ({ output_index: 7 + n })],
])("a piece belongs to the item with its %s", (_, whose) => {
  const { resource } = tell(logOf(inTurns(whose)));
  expect(resource.output).toMatchObject([{ arguments: '{"0":1}' }, { arguments: '{"1":1}' }]);
});

test("a piece for an item that has ended, or is of another kind, is dropped", () => {
  const begun = VLLM.slice(9, 16);
  const { events } = tell(logOf(begun));
  const at = { item_id: "msg_1", output_index: 1, content_index: 0 };
  const piece = { type: "response.output_text.delta", ...at, delta: "More." };
  const again = {
    type: "response.output_item.done",
    output_index: 1,
    item: message("No.", "msg_1"),
  };
  expect(tell(logOf([...begun, piece, again])).events).toEqual(events);
  const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "now" };
  const [begins, ends, late] = ["added", "done", "done"].map((end, n) => ({
    type: `response.output_item.${end}`,
    item: { ...call, arguments: n === 2 ? "{}" : "" },
  }));
  const once = [begins ?? null, ends ?? null];
  expect(tell(logOf([...once, late ?? null])).events).toEqual(tell(logOf(once)).events);
  const [added, part, ...rest] = begun;
  const thought = { type: "response.reasoning_text.delta", ...at, delta: "Hm" };
  const nothing = { ...piece, delta: "" };
  const mixed = [added ?? null, part ?? null, thought, nothing, ...rest];
  expect(tell(logOf(mixed)).events).toEqual(events);
});

test("an annotation is sent once, and not before it is complete", () => {
  const annotation = {
    type: "url_citation",
    ...{ url: "https://example.com/", title: "A page", start_index: 0, end_index: 4 },
  };
  const at = { item_id: "msg_1", output_index: 1, content_index: 0 };
  const part = { ...text("Four."), annotations: [annotation] };
  const added = {
    type: "response.output_text.annotation.added",
    ...at,
    annotation_index: 0,
    annotation,
  };
  const done = { type: "response.content_part.done", ...at, part };
  const withNulls = { ...added, annotation: { ...annotation, quote: null } };
  const nothing = { ...added, annotation: null };
  const streamed = tell(logOf([...VLLM.slice(9, 13), nothing, withNulls, done]));
  const whole = tell(logOf([response({ output: [{ ...message("Four."), content: [part] }] })]));
  for (const { events, resource } of [streamed, whole]) {
    expect(resource.output).toMatchObject([{ content: [part] }]);
    expect(JSON.stringify(events)).not.toContain("quote");
    expect(events.filter(({ type }) => type.endsWith("annotation.added"))).toHaveLength(1);
    expect(events.find(({ type }) => type.endsWith("part.added"))).toMatchObject({
      part: { annotations: [], text: "" },
    });
  }
});

test("events that have only pieces of text are accepted", () => {
  const pieces = ["The", " Queen"].map((delta) => ({ type: "response.output_text.delta", delta }));
  const { resource } = tell(logOf(pieces));
  expect(resource.output).toMatchObject([{ content: [{ text: "The Queen" }] }]);
});

test("content that comes only with the end of a part or an item is sent then", () => {
  const { resource } = tell(
    logOf([
      { type: "response.output_item.added", output_index: 0, item: { id: "m", type: "message" } },
      {
        type: "response.content_part.added",
        ...{ item_id: "m", output_index: 0, content_index: 0, part: text("") },
      },
      { type: "response.output_text.done", item_id: "m", output_index: 0, text: "Four." },
      { type: "response.output_item.done", output_index: 0, item: message("Four.", "m") },
      { type: "response.output_item.done", output_index: 1, item: message("Five.", "n") },
    ]),
  );
  expect(resource.output).toMatchObject([
    { id: own("msg", 0), content: [{ text: "Four." }] },
    { id: own("msg", 1), content: [{ text: "Five." }] },
  ]);
});

test("summaries of reasoning, and items of other types, pass with their events", () => {
  const summary = { type: "summary_text", text: "Counted." };
  const at = { item_id: "rs_1", output_index: 0, summary_index: 0 };
  const compaction = { id: "cmp_1", type: "compaction", encrypted_content: "sealed" };
  const { types, resource, events } = tell(
    logOf([
      VLLM[2] ?? null,
      { type: "response.reasoning_summary_part.added", ...at, part: { ...summary, text: "" } },
      { type: "response.reasoning_summary_text.delta", ...at, delta: "Counted." },
      { type: "response.reasoning_summary_text.done", ...at, text: "Counted." },
      { type: "response.reasoning_summary_part.done", ...at, part: summary },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { id: "rs_1", type: "reasoning", summary: [summary] },
      },
      {
        type: "response.output_item.added",
        output_index: 1,
        item: { ...compaction, encrypted_content: "" },
      },
      { type: "response.output_item.done", output_index: 1, item: compaction },
    ]),
  );
  expect(types.filter((type) => type.includes("summary"))).toHaveLength(4);
  expect(events.map(({ item_id }) => item_id).filter(Boolean)).toEqual(Array(4).fill(own("rs", 0)));
  expect(resource.output).toMatchObject([
    { summary: [summary] },
    { ...compaction, id: own("item", 1) },
  ]);
});

test("an event of an unknown item is dropped", () => {
  const { types } = tell(
    logOf([{ type: "response.rate_limits.updated", rate_limits: [] }, delta({ content: "Hi" })]),
  );
  expect(types).not.toContain("response.rate_limits.updated");
});
