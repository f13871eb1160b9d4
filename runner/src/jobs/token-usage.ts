/**
 * The tokens of one run that was asked for by a call of the convention: what its outputs say of
 * them, else what the model reports, else an estimate by the length of the texts.
 */
import type { Json } from "../../../src/protocol/common.ts";
import type { Metrics, SetupProgress, StoredValue } from "../../../src/protocol/event.ts";
import type { VendoraCall } from "../../../src/protocol/runner.ts";
import { isObject } from "../lib/json-object.ts";
import type { Sink } from "./executor.ts";
import { charactersOf, lengthOf } from "./token-estimate.ts";

/** English text in the tokens of most models. */
const CHARACTERS_PER_TOKEN = 4;

interface Tokens {
  input?: number | undefined;
  output?: number | undefined;
}

export class TokenUsage implements Sink {
  readonly #sink: Sink;
  readonly #call: VendoraCall;
  readonly #input: Record<string, Json>;
  #said: Tokens = {};
  #reported: Tokens = {};
  #characters = 0;

  constructor(sink: Sink, call: VendoraCall, input: Record<string, Json>) {
    this.#sink = sink;
    this.#call = call;
    this.#input = input;
  }

  setup(progress: SetupProgress): void {
    this.#sink.setup(progress);
  }

  logs(text: string): void {
    this.#sink.logs(text);
  }

  reserve(bytes: number): boolean {
    return this.#sink.reserve(bytes);
  }

  prepared(json: string): void {
    this.#sink.prepared(json);
  }

  stored(value: StoredValue): void {
    this.#sink.stored(value);
  }

  output(value: Json): void {
    this.#said = merged(this.#said, usageIn(value));
    this.#characters += lengthOf(value);
    this.#sink.output(value);
  }

  /** Language models on Replicate say `input_token_count`. */
  metrics(metrics: Metrics): void {
    this.#reported = merged(this.#reported, {
      input: count(metrics.input_tokens) ?? count(metrics.input_token_count),
      output: count(metrics.output_tokens) ?? count(metrics.output_token_count),
    });
    this.#sink.metrics(metrics);
  }

  /** After the last output. Runs that failed or were stopped have used what they have, too. */
  settle(): void {
    const input = this.#said.input ?? this.#reported.input;
    const said = this.#said.output ?? this.#reported.output;
    const output = this.#call === "embeddings" ? 0 : said;
    this.#sink.metrics({
      input_tokens: input ?? estimate(charactersOf(this.#input, CHARACTERS_PER_TOKEN)),
      output_tokens: output ?? estimate(this.#characters),
      ...(input === undefined || output === undefined ? { tokens_estimated: 1 } : {}),
    });
  }
}

const estimate = (characters: number) => Math.ceil(characters / CHARACTERS_PER_TOKEN);

/** Of a chunk, a completion, embeddings, a response or an event of one. */
function usageIn(value: Json): Tokens | undefined {
  if (!isObject(value)) return undefined;
  const usage = isObject(value.response) ? value.response.usage : value.usage;
  if (!isObject(usage)) return undefined;
  const input = count(usage.prompt_tokens ?? usage.input_tokens);
  const output = count(usage.completion_tokens ?? usage.output_tokens);
  return { input, output };
}

/** What is said later counts, as far as it says something. */
const merged = (before: Tokens, later: Tokens | undefined): Tokens =>
  later ? { input: later.input ?? before.input, output: later.output ?? before.output } : before;

/** Containers say what they like: JSON's 1e999 is infinite, and no JSON any more. */
const count = (value: Json | undefined) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
