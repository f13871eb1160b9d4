/** Outputs of a chat in the style of servers of OpenAI's API. Not recordings. */
import type { Json } from "../../../src/protocol/common.ts";

export const HEAD = {
  id: "chatcmpl-0190f3a2b4c57d8e9fa0b1c2d3e4f506",
  created: 1_795_000_000,
  model: "ada/chat",
};

const vllmHead = {
  id: "chatcmpl-7f1c",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "ada/chat",
};

const vllmChunk = (delta: Json, more: { [field: string]: Json } = {}): Json => ({
  ...vllmHead,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, token_ids: null, ...more }],
  usage: null,
  system_fingerprint: null,
});

export const VLLM_STREAM: Json[] = [
  vllmChunk({ role: "assistant", content: "" }),
  vllmChunk({ content: "Grüße, " }),
  vllmChunk({ content: "world" }, { stop_reason: null }),
  vllmChunk({ content: "" }, { finish_reason: "stop", stop_reason: 128_009 }),
  {
    ...vllmHead,
    choices: [],
    usage: {
      prompt_tokens: 9,
      total_tokens: 12,
      completion_tokens: 3,
      prompt_tokens_details: { cached_tokens: 4, audio_tokens: null },
      completion_tokens_details: null,
    },
    timings: { predicted_per_second: 60.5 },
  },
];

export const VLLM_COMPLETION: Json = {
  ...vllmHead,
  object: "chat.completion",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "Grüße, world",
        refusal: null,
        annotations: null,
        audio: null,
        function_call: null,
        tool_calls: [],
        reasoning_content: null,
      },
      logprobs: null,
      finish_reason: "stop",
      stop_reason: null,
    },
  ],
  service_tier: null,
  system_fingerprint: null,
  usage: { prompt_tokens: 9, total_tokens: 12, completion_tokens: 3, prompt_tokens_details: null },
  prompt_logprobs: null,
};

/** Two simultaneous calls; one server gives each piece of a call another ID, another server gives no IDs. */
export const CALLS_STREAM: Json[] = [
  vllmChunk({ role: "assistant", content: null }),
  vllmChunk({
    tool_calls: [
      { index: 0, id: "call_a", type: "function", function: { name: "weather", arguments: "" } },
    ],
  }),
  vllmChunk({
    tool_calls: [
      { index: 0, id: "call_z", type: null, function: { name: "weather", arguments: '{"city":' } },
    ],
  }),
  vllmChunk({
    tool_calls: [{ index: 0, id: null, function: { name: null, arguments: '"Köln"}' } }],
  }),
  vllmChunk({ tool_calls: [{ index: 0, function: { name: "weather", arguments: "" } }] }),
  vllmChunk({ tool_calls: [{ index: 1, id: "", function: { name: "time", arguments: "{}" } }] }),
  vllmChunk({}, { finish_reason: "tool_calls" }),
];
