/**
 * The token usage of one run of an OpenAI-compatible call: as its outputs report it, otherwise as
 * the model's metrics report it, otherwise estimated from the length of the texts.
 */

import { estimatedTokens } from "../domain/anthropic/token-count.ts";
import { isObject } from "../lib/json.ts";
import type { Json } from "../protocol/common.ts";
import type { Metrics } from "../protocol/event.ts";
import type { OpenAiCall } from "../protocol/runner.ts";
import { isImageCall, PassingReporter, type RunReporter } from "./run-reporter.ts";

/** Typical for English text in most models' tokenizers. */
const CHARACTERS_PER_TOKEN = 4;

/** The calls whose answers are no text. */
const WITHOUT_OUTPUT: OpenAiCall[] = ["embeddings", "moderations", "rerank"];

interface Tokens {
  input?: number | undefined;
  output?: number | undefined;
  /** The part of the input that came from the server's cache. */
  cached?: number | undefined;
}

export class TokenUsage extends PassingReporter {
  readonly #call: OpenAiCall;
  readonly #input: Record<string, Json>;
  #usage: Tokens = {};
  #metrics: Tokens = {};
  #characters = 0;
  /** Characters that the reported output tokens cover; the usage at a message's beginning covers none. */
  #counted = 0;

  constructor(reporter: RunReporter, call: OpenAiCall, input: Record<string, Json>) {
    super(reporter);
    this.#call = call;
    this.#input = input;
  }

  override output(value: Json, json?: string): void {
    const usage = readUsage(value, this.#isWithoutOutput);
    this.#usage = mergeTokens(this.#usage, usage);
    this.#characters += outputCharacters(value);
    if (usage?.output !== undefined) this.#counted = this.#characters;
    super.output(value, json);
  }

  /** Language models on Replicate report `input_token_count`. */
  override metrics(metrics: Metrics): void {
    this.#metrics = mergeTokens(this.#metrics, {
      input: tokenCount(metrics.input_tokens) ?? tokenCount(metrics.input_token_count),
      output: tokenCount(metrics.output_tokens) ?? tokenCount(metrics.output_token_count),
    });
    super.metrics(metrics);
  }

  /** Reports the usage after the last output, also for runs that failed or were stopped. */
  settle(): void {
    const input = this.#usage.input ?? this.#metrics.input;
    const reported = this.#usage.output ?? this.#metrics.output;
    // An image has only the output tokens that its server counts.
    if (isImageCall(this.#call) && reported === undefined) return;
    // A stream that was stopped has text after its last usage, or no usage at all.
    const isReported = this.#metrics.output !== undefined && this.#usage.output === undefined;
    const rest = this.#isWithoutOutput || isReported ? 0 : this.#characters - this.#counted;
    const isEstimated =
      input === undefined || rest > 0 || (reported === undefined && !this.#isWithoutOutput);
    super.metrics({
      input_tokens: input ?? this.#estimatedInput(),
      output_tokens: this.#isWithoutOutput ? 0 : (reported ?? 0) + estimate(rest),
      ...(this.#usage.cached && { cached_tokens: this.#usage.cached }),
      ...(isEstimated && { tokens_estimated: 1 }),
    });
  }

  get #isWithoutOutput(): boolean {
    return WITHOUT_OUTPUT.includes(this.#call);
  }

  #estimatedInput(): number {
    return this.#call === "messages"
      ? estimatedTokens(this.#input)
      : estimate(inputCharacters(this.#input, CHARACTERS_PER_TOKEN));
  }
}

const estimate = (characters: number) => Math.ceil(characters / CHARACTERS_PER_TOKEN);

/**
 * Returns the usage in a chunk, completion, embeddings, response, message or event of the latter two. A
 * ranking may have nothing but a total.
 */
function readUsage(value: Json, isWithoutOutput: boolean): Tokens | undefined {
  if (!isObject(value)) return undefined;
  const { response, message } = value;
  const { usage } = isObject(response) ? response : isObject(message) ? message : value;
  if (!isObject(usage)) return undefined;
  const input = tokenCount(usage.prompt_tokens) ?? inputTokens(usage);
  const output = tokenCount(usage.completion_tokens ?? usage.output_tokens);
  const total = isWithoutOutput ? tokenCount(usage.total_tokens) : undefined;
  return { input: input ?? total, output, cached: cachedTokens(usage) };
}

/** Returns the input tokens that came from a cache, as each convention names them. */
function cachedTokens(usage: Record<string, Json>): number | undefined {
  const details = usage.prompt_tokens_details ?? usage.input_tokens_details;
  const cached = isObject(details) ? details.cached_tokens : usage.cache_read_input_tokens;
  return tokenCount(cached);
}

/**
 * Returns the input tokens with those of the cache, which a message counts apart, and may omit at its end.
 */
function inputTokens(usage: Record<string, Json>): number | undefined {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage;
  const input = tokenCount(input_tokens);
  if (input === undefined) return undefined;
  const cached = tokenCount(cache_read_input_tokens) ?? 0;
  return input + cached + (tokenCount(cache_creation_input_tokens) ?? 0);
}

/** Later values replace earlier ones where they are set. */
const mergeTokens = (before: Tokens, later: Tokens | undefined): Tokens =>
  later
    ? {
        input: later.input ?? before.input,
        output: later.output ?? before.output,
        cached: later.cached ?? before.cached,
      }
    : before;

/** Containers are untrusted: JSON's 1e999 parses to Infinity, which JSON cannot express. */
const tokenCount = (value: Json | undefined) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** The fields of requests that hold text for the model; image URLs and ids do not count. */
const INPUT_FIELDS = ["messages", "input", "instructions", "prompt", "query", "documents"];
const TEXT_FIELDS = ["content", "text", "output", "arguments", "refusal", "reasoning_content"];

/** Deeper than any real request, and shallow enough for the stack. */
const MAX_DEPTH = 20;

/** Returns the characters in an input. A number counts as one token, since lists of numbers are token ids. */
const inputCharacters = (input: Record<string, Json>, perToken: number): number =>
  INPUT_FIELDS.reduce((sum, name) => sum + countCharacters(input[name], perToken, 0), 0);

function countCharacters(value: Json | undefined, perToken: number, depth: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value === "number") return perToken;
  if (depth > MAX_DEPTH) return 0;
  const parts = Array.isArray(value)
    ? value
    : isObject(value)
      ? [...TEXT_FIELDS, "tool_calls", "function"].map((name) => value[name])
      : [];
  return parts.reduce<number>((sum, part) => sum + countCharacters(part, perToken, depth + 1), 0);
}

/** Characters of text in an output, in any of the OpenAI-compatible shapes. */
function outputCharacters(output: Json): number {
  if (typeof output === "string") return output.length;
  if (!isObject(output)) return 0;
  const { choices, delta, type } = output;
  if (Array.isArray(choices)) return sum(choices, choiceCharacters);
  if (type === "message")
    return Array.isArray(output.content) ? sum(output.content, blockCharacters) : 0;
  // `type` marks an event: the last event of a response repeats the text of the deltas.
  if (typeof type === "string") return isObject(delta) ? blockCharacters(delta) : textLength(delta);
  if (Array.isArray(output.output)) return sum(output.output, itemCharacters);
  // A transcript.
  return textLength(output.text);
}

/** Whether this is a stream chunk without text, such as one that only sets the role. */
export function isPreamble(output: Json): boolean {
  if (!isObject(output)) return false;
  const { choices, type } = output;
  const isPiece = typeof type === "string" && EVENT.test(type);
  return (isPiece || Array.isArray(choices)) && outputCharacters(output) === 0;
}

/** The names of a stream's events, in either convention. */
const EVENT = /^(?:response\.|message_|content_block_)/;

function blockCharacters(block: Json): number {
  if (!isObject(block)) return 0;
  const { text, thinking, partial_json } = block;
  const input = isObject(block.input) ? JSON.stringify(block.input).length : 0;
  return textLength(text) + textLength(thinking) + textLength(partial_json) + input;
}

function choiceCharacters(choice: Json): number {
  if (!isObject(choice)) return 0;
  const message = isObject(choice.delta) ? choice.delta : choice.message;
  if (!isObject(message)) return textLength(choice.text);
  const { content, refusal, reasoning_content: thought, reasoning, tool_calls: calls } = message;
  const text = textLength(content) + textLength(refusal) + textLength(thought ?? reasoning);
  return Array.isArray(calls) ? text + sum(calls, callCharacters) : text;
}

const callCharacters = (call: Json) =>
  isObject(call) && isObject(call.function) ? functionCharacters(call.function) : 0;

const functionCharacters = ({ name, arguments: args }: Record<string, Json>) =>
  textLength(name) + textLength(args);

/** An item of a response: a message, reasoning, or a tool call. */
function itemCharacters(item: Json): number {
  if (!isObject(item)) return 0;
  const parts = [item.content, item.summary].flatMap((list) => (Array.isArray(list) ? list : []));
  const inPart = (part: Json) => (isObject(part) ? textLength(part.text ?? part.refusal) : 0);
  return functionCharacters(item.type === "function_call" ? item : {}) + sum(parts, inPart);
}

const textLength = (value: Json | undefined) => (typeof value === "string" ? value.length : 0);

const sum = (list: Json[], length: (value: Json) => number) =>
  list.reduce<number>((total, value) => total + length(value), 0);
