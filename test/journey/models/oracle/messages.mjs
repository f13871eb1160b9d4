// Messages from a server that has the endpoint itself, as vLLM and llama.cpp do: its thoughts are not signed.

import { usageOf } from "./chat.mjs";

const HEAD = { id: "msg_oracle", type: "message", role: "assistant" };

const STOP_REASONS = { length: "max_tokens", content_filter: "refusal" };

export function answerMessage(body, script, model) {
  const { input_tokens, output_tokens } = countsOf(body, script);
  return {
    ...HEAD,
    model,
    content: blocksOf(script),
    ...endingOf(body, script),
    usage: { input_tokens, output_tokens },
  };
}

export function* messageEvents(body, script, model) {
  const event = (type, data) => ({ event: type, data: { type, ...data } });
  const { input_tokens, output_tokens } = countsOf(body, script);
  const usage = { input_tokens, output_tokens: 0 };
  yield event("message_start", { message: { ...HEAD, model, content: [], usage } });
  yield event("ping");
  for (const [index, block] of blocksOf(script).entries()) {
    yield event("content_block_start", { index, content_block: emptied(block) });
    for (const delta of deltasOf(block, script)) {
      yield event("content_block_delta", { index, delta });
    }
    yield event("content_block_stop", { index });
  }
  const delta = endingOf(body, script);
  yield { ...event("message_delta", { delta, usage: { output_tokens } }), last: true };
  yield event("message_stop");
}

export const countTokens = (body) => ({ input_tokens: 1000 + body.messages.length });

function blocksOf({ think, say, refuse, calls = [] }) {
  const text = [...(say ?? []), ...(refuse ?? [])];
  return [
    ...(think ? [{ type: "thinking", thinking: think.join("") }] : []),
    ...(text.length > 0 ? [{ type: "text", text: text.join("") }] : []),
    ...calls.map(({ name, arguments: input }, n) => ({
      type: "tool_use",
      id: `call_${n}`,
      name,
      input,
    })),
  ];
}

const emptied = (block) => ({
  ...block,
  ...(block.type === "thinking" && { thinking: "" }),
  ...(block.type === "text" && { text: "" }),
  ...(block.type === "tool_use" && { input: {} }),
});

function deltasOf({ type, input }, { think, say, refuse }) {
  if (type === "thinking") return think.map((thinking) => ({ type: "thinking_delta", thinking }));
  if (type === "text")
    return [...(say ?? []), ...(refuse ?? [])].map((text) => ({ type: "text_delta", text }));
  const pieces = JSON.stringify(input).match(/.{1,5}/gs);
  return pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }));
}

/**
 * Returns the stop reason: `stop` in the script ends the message at the first stop sequence of the request.
 */
function endingOf({ stop_sequences = [] }, { finish, calls }) {
  if (finish === "stop" && stop_sequences.length > 0)
    return { stop_reason: "stop_sequence", stop_sequence: stop_sequences[0] };
  const own = calls ? "tool_use" : "end_turn";
  return { stop_reason: STOP_REASONS[finish] ?? own, stop_sequence: null };
}

function countsOf(body, script) {
  const { prompt_tokens: input_tokens, completion_tokens: output_tokens } = usageOf(body, script);
  return { input_tokens, output_tokens };
}
