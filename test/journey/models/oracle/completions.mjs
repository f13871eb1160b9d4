// Completions, as vLLM writes them: each prompt and each piece counts as a token.

const HEAD = { id: "cmpl-oracle", object: "text_completion", created: 1 };

export function answerCompletion(body, script, model) {
  const choices = promptsOf(body).map((_, index) => ({
    index,
    text: (script.say ?? []).join(""),
    logprobs: body.logprobs ? logprobsOf(script.say) : null,
    finish_reason: script.finish ?? "stop",
    stop_reason: null,
  }));
  return { ...HEAD, model, choices, usage: usageOf(body, script) };
}

export function* completionChunks(body, script, model) {
  const chunk = (choices, rest) => ({ data: { ...HEAD, model, choices, ...rest } });
  const indices = promptsOf(body).map((_, index) => index);
  for (const text of script.say ?? []) {
    const logprobs = body.logprobs ? logprobsOf([text]) : null;
    for (const index of indices) yield chunk([{ index, text, logprobs, finish_reason: null }]);
  }
  const finish_reason = script.finish ?? "stop";
  const ends = indices.map((index) => ({ index, text: "", logprobs: null, finish_reason }));
  yield { ...chunk(ends), last: true };
  if (body.stream_options?.include_usage) yield chunk([], { usage: usageOf(body, script) });
}

const promptsOf = ({ prompt }) =>
  typeof prompt === "string" || typeof prompt[0] === "number" ? [prompt] : prompt;

const logprobsOf = (tokens) => ({
  tokens,
  token_logprobs: tokens.map(() => -0.5),
  top_logprobs: tokens.map((token) => ({ [token]: -0.5 })),
  text_offset: tokens.map(() => 0),
});

function usageOf(body, { say = [] }) {
  const prompt_tokens = promptsOf(body).length;
  const completion_tokens = prompt_tokens * say.length;
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}
