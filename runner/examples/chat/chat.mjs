// Chat completions, streamed as chunks or as one response.

import { randomUUID } from "node:crypto";
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";
import { tokenize } from "./ngrams.mjs";
import { chatRequest } from "./request.mjs";
import { callFor } from "./tools.mjs";
import { countTokens } from "./writer.mjs";

/** Handles the endpoint. A returned iterable is streamed. */
export function chatCompletions(writer) {
  return (body, signal) => {
    const request = chatRequest(body);
    const head = {
      id: `chatcmpl-${randomUUID().replaceAll("-", "")}`,
      created: Math.floor(Date.now() / 1000),
      model: body.model,
    };
    const steps = say(writer, request, signal);
    return request.stream ? chunks(head, steps, request) : completion(head, steps, request);
  };
}

/** Yields a token of each choice in turn, with a pause after each round. */
async function* say(writer, request, signal) {
  let choices = Array.from({ length: request.choices }, (_, index) => ({
    index,
    steps: choiceOf(writer, request, request.sampling.seed + index),
  }));
  while (choices.length > 0) {
    const speaking = [];
    for (const choice of choices) {
      const { value, done } = choice.steps.next();
      yield { index: choice.index, ...value };
      if (!done) speaking.push(choice);
    }
    choices = speaking;
    // The loop waits even without a delay, so that a disconnected client is noticed between tokens.
    await (request.delay > 0 ? sleep(request.delay, undefined, { signal }) : breathe());
    signal.throwIfAborted();
  }
}

/** Yields one choice, one `delta` at a time, with its number of `tokens`. */
function* choiceOf(writer, { messages, tools, sampling, logprobs }, seed) {
  if (tools.length > 0) return yield* call(callFor(tools, messages), sampling.max);
  yield { delta: { role: "assistant", content: "" }, tokens: 0 };
  const written = writer.write(messages, { ...sampling, seed });
  let next = written.next();
  for (; !next.done; next = written.next()) {
    const { text: content, top } = next.value;
    const told = [{ ...likely(next.value), top_logprobs: top.map(likely) }];
    const step = { delta: { content }, tokens: 1 };
    yield logprobs ? { ...step, logprobs: { content: told, refusal: null } } : step;
  }
  return { delta: {}, finish_reason: next.value, tokens: 0 };
}

function* call({ name, arguments: text }, max) {
  const id = `call_${randomUUID().replaceAll("-", "")}`;
  const piece = (part) => ({ tool_calls: [{ index: 0, ...part }] });
  const first = piece({ id, type: "function", function: { name, arguments: "" } });
  yield { delta: { role: "assistant", content: null, ...first }, tokens: 0 };
  const pieces = tokenize(text);
  for (const part of pieces.slice(0, max)) {
    yield { delta: piece({ function: { arguments: part } }), tokens: 1 };
  }
  const whole = pieces.length <= max;
  return { delta: {}, finish_reason: whole ? "tool_calls" : "length", tokens: 0 };
}

function likely({ text, logprob }) {
  return { token: text, logprob, bytes: [...Buffer.from(text)] };
}

async function* chunks(head, steps, { messages, usage }) {
  const frame = { ...head, object: "chat.completion.chunk" };
  let count = 0;
  for await (const { tokens, finish_reason = null, logprobs = null, ...choice } of steps) {
    count += tokens;
    const choices = [{ ...choice, logprobs, finish_reason }];
    yield usage ? { ...frame, choices, usage: null } : { ...frame, choices };
  }
  if (usage) yield { ...frame, choices: [], usage: usageOf(messages, count) };
}

async function completion(head, steps, { messages, choices: count, logprobs }) {
  let written = 0;
  const choices = Array.from({ length: count }, (_, index) => ({
    index,
    message: { role: "assistant", content: "", refusal: null },
    logprobs: logprobs ? { content: [], refusal: null } : null,
    finish_reason: null,
  }));
  for await (const { index, delta, tokens, finish_reason, logprobs } of steps) {
    written += tokens;
    const choice = choices[index];
    const { message } = choice;
    if (finish_reason) choice.finish_reason = finish_reason;
    choice.logprobs?.content.push(...(logprobs?.content ?? []));
    if (delta.content === null) message.content = null;
    else if (delta.content) message.content += delta.content;
    for (const { id, type, function: part } of delta.tool_calls ?? []) {
      if (id) message.tool_calls = [{ id, type, function: { ...part } }];
      else message.tool_calls[0].function.arguments += part.arguments;
    }
  }
  const usage = usageOf(messages, written);
  return { ...head, object: "chat.completion", choices, usage };
}

function usageOf(messages, completion_tokens) {
  const prompt_tokens = countTokens(messages);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}
