/** Streams of responses as the servers in containers send them. */
import type { Json } from "../../../src/protocol/common.ts";

export type Event = { [name: string]: Json };

export const text = (value: string) => ({
  type: "output_text",
  text: value,
  annotations: [],
  logprobs: [],
});

export const message = (value: string, id = "msg_up") => ({
  id,
  type: "message",
  role: "assistant",
  status: "completed",
  content: [text(value)],
});

export const response = (fields: Event = {}): Event => ({
  id: "resp_upstream",
  object: "response",
  created_at: 1,
  model: "served-name",
  status: "completed",
  output: [],
  usage: {
    input_tokens: 5,
    input_tokens_details: { cached_tokens: 3 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 12,
  },
  ...fields,
});

export const ends = (type: string, fields: Event = {}): Event => ({
  type: `response.${type}`,
  sequence_number: 99,
  response: response({ status: type, ...fields }),
});

/** Events as vLLM sends them: with its own events for reasoning, without logprobs and names of calls. */
export const VLLM: Event[] = [
  { type: "response.created", sequence_number: 0, response: response({ status: "in_progress" }) },
  { type: "response.in_progress", sequence_number: 1, response: response() },
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { id: "rs_1", type: "reasoning", summary: [], status: "in_progress" },
  },
  {
    type: "response.reasoning_part.added",
    ...{ item_id: "rs_1", output_index: 0, content_index: 0 },
    part: { type: "reasoning_text", text: "" },
  },
  ...["Let me ", "see."].map((delta) => ({
    type: "response.reasoning_text.delta",
    ...{ item_id: "rs_1", output_index: 0, content_index: 0, delta },
  })),
  {
    type: "response.reasoning_text.done",
    ...{ item_id: "rs_1", output_index: 0, content_index: 0, text: "Let me see." },
  },
  {
    type: "response.reasoning_part.done",
    ...{ item_id: "rs_1", output_index: 0, content_index: 0 },
    part: { type: "reasoning_text", text: "Let me see." },
  },
  {
    type: "response.output_item.done",
    output_index: 0,
    item: {
      id: "rs_1",
      type: "reasoning",
      summary: [],
      content: [{ type: "reasoning_text", text: "Let me see." }],
      encrypted_content: null,
    },
  },
  {
    type: "response.output_item.added",
    output_index: 1,
    item: { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] },
  },
  {
    type: "response.content_part.added",
    ...{ item_id: "msg_1", output_index: 1, content_index: 0, part: text("") },
  },
  ...["Fo", "ur."].map((delta) => ({
    type: "response.output_text.delta",
    ...{ item_id: "msg_1", output_index: 1, content_index: 0, delta },
  })),
  {
    type: "response.output_text.done",
    ...{ item_id: "msg_1", output_index: 1, content_index: 0, text: "Four." },
  },
  {
    type: "response.content_part.done",
    ...{ item_id: "msg_1", output_index: 1, content_index: 0, part: text("Four.") },
  },
  { type: "response.output_item.done", output_index: 1, item: message("Four.", "msg_1") },
  {
    type: "response.output_item.added",
    output_index: 2,
    item: { type: "function_call", id: "fc_1", call_id: "call_1", name: "sum", arguments: "" },
  },
  {
    type: "response.function_call_arguments.delta",
    ...{ item_id: "fc_1", output_index: 2, delta: "{}" },
  },
  {
    type: "response.function_call_arguments.done",
    ...{ item_id: "fc_1", output_index: 2, arguments: "{}" },
  },
  {
    type: "response.output_item.done",
    output_index: 2,
    item: { type: "function_call", id: "fc_1", call_id: "call_1", name: "sum", arguments: "{}" },
  },
  ends("completed", { output: [{}, message("Four.", "msg_made_anew"), {}] }),
];

/** Events as llama.cpp sends them: without any index, calls without an ID, and all items done at the end. */
export const LLAMA: Event[] = [
  { type: "response.created", response: response({ status: "in_progress" }) },
  { type: "response.in_progress", response: response({ status: "in_progress" }) },
  {
    type: "response.output_item.added",
    item: {
      id: "rs_1",
      ...{ type: "reasoning", summary: [], content: [], encrypted_content: "" },
      status: "in_progress",
    },
  },
  { type: "response.reasoning_text.delta", item_id: "rs_1", delta: "Let me see." },
  {
    type: "response.output_item.added",
    item: { id: "msg_1", type: "message", role: "assistant", content: [], status: "in_progress" },
  },
  {
    type: "response.content_part.added",
    item_id: "msg_1",
    part: { type: "output_text", text: "" },
  },
  { type: "response.output_text.delta", item_id: "msg_1", delta: "Four." },
  ...["a", "b"].flatMap((id): Event[] => [
    {
      type: "response.output_item.added",
      item: { type: "function_call", call_id: `fc_${id}`, name: "sum", arguments: "" },
    },
    { type: "response.function_call_arguments.delta", item_id: `fc_${id}`, delta: `{"${id}":1}` },
  ]),
  {
    type: "response.output_item.done",
    item: {
      id: "rs_1",
      ...{ type: "reasoning", summary: [], encrypted_content: "" },
      content: [{ type: "reasoning_text", text: "Let me see." }],
    },
  },
  { type: "response.output_text.done", item_id: "msg_1", text: "Four." },
  { type: "response.content_part.done", item_id: "msg_1", part: text("Four.") },
  { type: "response.output_item.done", item: message("Four.", "msg_1") },
  ...["a", "b"].map((id) => ({
    type: "response.output_item.done",
    item: {
      type: "function_call",
      status: "completed",
      ...{ call_id: `fc_${id}`, name: "sum", arguments: `{"${id}":1}` },
    },
  })),
  ends("completed"),
];
