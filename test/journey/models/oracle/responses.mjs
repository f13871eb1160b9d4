// Responses from a server that has the endpoint itself: its own IDs, and only the fields of such servers.

import { usageOf } from "./chat.mjs";

const HEAD = { id: "resp_oracle", object: "response", created_at: 1 };

export function answerResponse(body, script, model) {
  const incomplete = script.finish === "length";
  const { prompt_tokens: input_tokens, completion_tokens: output_tokens } = usageOf(body, script);
  return {
    ...HEAD,
    model,
    status: incomplete ? "incomplete" : "completed",
    incomplete_details: incomplete ? { reason: "max_output_tokens" } : null,
    output: itemsOf(script),
    usage: {
      input_tokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens,
      output_tokens_details: { reasoning_tokens: script.think?.length ?? 0 },
      total_tokens: input_tokens + output_tokens,
    },
  };
}

export function* eventsOf(body, script, model) {
  let sequence_number = 0;
  const event = (type, data) => ({
    event: `response.${type}`,
    data: { type: `response.${type}`, sequence_number: sequence_number++, ...data },
  });
  const begun = { ...HEAD, model, status: "in_progress", output: [] };
  yield event("created", { response: begun });
  yield event("in_progress", { response: begun });
  for (const [output_index, item] of itemsOf(script).entries()) {
    const at = { output_index, item_id: item.id };
    yield event("output_item.added", { output_index, item: emptied(item) });
    yield* (partsOf[item.type](script, item) ?? []).map(([type, data]) =>
      event(type, { ...at, ...data }),
    );
    yield event("output_item.done", { output_index, item });
  }
  const response = answerResponse(body, script, model);
  yield { ...event(response.status, { response }), last: true };
}

function itemsOf({ think, say, refuse, calls = [] }) {
  const content = [
    ...(say ? [{ type: "output_text", text: say.join(""), annotations: [] }] : []),
    ...(refuse ? [{ type: "refusal", refusal: refuse.join("") }] : []),
  ];
  const reasoning = { type: "reasoning", id: "rs_oracle", summary: [] };
  const message = { type: "message", id: "msg_oracle", role: "assistant", status: "completed" };
  return [
    ...(think
      ? [{ ...reasoning, content: [{ type: "reasoning_text", text: think.join("") }] }]
      : []),
    ...(content.length > 0 ? [{ ...message, content }] : []),
    ...calls.map(({ name, arguments: given }, n) => ({
      type: "function_call",
      id: `fc_oracle${n}`,
      call_id: `call_${n}`,
      name,
      arguments: JSON.stringify(given),
      status: "completed",
    })),
  ];
}

const emptied = (item) =>
  item.type === "function_call"
    ? { ...item, arguments: "", status: "in_progress" }
    : { ...item, content: [], ...(item.status && { status: "in_progress" }) };

const partsOf = {
  reasoning: ({ think }, { content: [part] }) => {
    const at = { content_index: 0 };
    return [
      ...think.map((delta) => ["reasoning_text.delta", { ...at, delta }]),
      ["reasoning_text.done", { ...at, text: part.text }],
    ];
  },
  message: ({ say, refuse }, { content }) =>
    content.flatMap((part, content_index) => {
      const at = { content_index };
      const [type, key, pieces] =
        part.type === "refusal" ? ["refusal", "refusal", refuse] : ["output_text", "text", say];
      return [
        ["content_part.added", { ...at, part: { ...part, [key]: "" } }],
        ...pieces.map((delta) => [`${type}.delta`, { ...at, delta }]),
        [`${type}.done`, { ...at, [key]: part[key] }],
        ["content_part.done", { ...at, part }],
      ];
    }),
  function_call: (_, { arguments: given }) => [
    ...(given.match(/.{1,5}/gs) ?? []).map((delta) => ["function_call_arguments.delta", { delta }]),
    ["function_call_arguments.done", { arguments: given }],
  ],
};
