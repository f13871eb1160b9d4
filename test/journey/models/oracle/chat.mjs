// Chat completions, as vLLM writes them.

const HEAD = { id: "chatcmpl-oracle", created: 1, system_fingerprint: "fp_oracle" };

/** The whole answer as one object. */
export function answerChat(body, script, model) {
  const { think, refuse } = script;
  const calls = callsOf(script);
  const choices = indices(body).map((index) => {
    const pieces = piecesFor(script, index);
    return {
      index,
      message: {
        role: "assistant",
        content: pieces.length > 0 ? pieces.join("") : null,
        ...(think && { reasoning_content: think.join("") }),
        ...(refuse && { refusal: refuse.join("") }),
        ...(calls.length > 0 && { tool_calls: calls }),
      },
      ...(body.logprobs && { logprobs: { content: pieces.map(logprob) } }),
      finish_reason: finishOf(script),
    };
  });
  const usage = script.usage === false ? {} : { usage: usageOf(body, script) };
  return { ...HEAD, object: "chat.completion", model, choices, ...usage };
}

/** Yields the answer in pieces: the data of each event. Those with `last` say how the answer has ended. */
export function* chunksOf(body, script, model) {
  const chunk = (choices, rest) => ({
    data: { ...HEAD, object: "chat.completion.chunk", model, choices, ...rest },
  });
  const all = (delta, rest) => chunk(indices(body).map((index) => ({ index, delta, ...rest })));
  yield all({ role: "assistant", content: "" }, { finish_reason: null });
  for (const piece of script.think ?? []) yield all({ reasoning_content: piece });
  for (const piece of script.refuse ?? []) yield all({ refusal: piece });
  for (const [n] of (script.say ?? []).entries()) {
    // Each choice has a chunk of its own, as with servers that run several at once.
    for (const index of indices(body)) {
      const content = piecesFor(script, index)[n];
      const logprobs = body.logprobs ? { content: [logprob(content)] } : null;
      yield chunk([{ index, delta: { content }, logprobs, finish_reason: null }]);
    }
  }
  yield* callDeltas(callsOf(script)).map((tool_calls) => all({ tool_calls }));
  // As vLLM does: `stop` in the script ends the answer at the first stop sequence of the request.
  const stop_reason = script.finish === "stop" ? [body.stop ?? null].flat()[0] : null;
  yield { ...all({}, { finish_reason: finishOf(script), stop_reason }), last: true };
  if (body.stream_options?.include_usage && script.usage !== false) {
    yield chunk([], { usage: usageOf(body, script) });
  }
}

/**
 * Returns the deltas of calls: names first, then the arguments of all calls in turns, a few characters at a
 * time.
 */
function callDeltas(calls) {
  const begun = calls.map(({ function: { name }, ...call }, index) => [
    { index, ...call, function: { name, arguments: "" } },
  ]);
  const parts = calls.map((call) => call.function.arguments.match(/.{1,5}/gs) ?? []);
  const longest = Math.max(0, ...parts.map(({ length }) => length));
  const rounds = Array.from({ length: longest }, (_, n) =>
    parts.flatMap((of, index) =>
      of[n] === undefined ? [] : [{ index, function: { arguments: of[n] } }],
    ),
  );
  return [...begun, ...rounds];
}

const indices = ({ n = 1 }) => Array.from({ length: n }, (_, index) => index);

/** Returns the pieces of one choice: the first has the script's, the others have the index added. */
const piecesFor = ({ say = [] }, index) =>
  say.map((piece) => (index === 0 ? piece : `${piece}${index}`));

const callsOf = ({ calls = [] }) =>
  calls.map(({ name, arguments: given }, n) => ({
    id: `call_${n}`,
    type: "function",
    function: { name, arguments: JSON.stringify(given) },
  }));

const finishOf = ({ finish, calls }) => finish ?? (calls ? "tool_calls" : "stop");

const logprob = (token) => ({
  token,
  logprob: -0.5,
  bytes: [...Buffer.from(token)],
  top_logprobs: [{ token, logprob: -0.5, bytes: [...Buffer.from(token)] }],
});

/** Returns the usage: each message and each piece counts as a token. */
export function usageOf({ messages, input, n = 1 }, { say = [], think = [], refuse = [] }) {
  const prompt_tokens = messages?.length ?? (Array.isArray(input) ? input.length : 1);
  const completion_tokens = n * say.length + think.length + refuse.length;
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}
