/**
 * The tokens of one run that was asked for by a call of the convention: what its outputs say of
 * them, else what the model reports, else an estimate by the length of the texts.
 */

import { isObject } from "../../../src/lib/json.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Metrics, SetupProgress, StoredValue } from "../../../src/protocol/event.ts";
import type { VendoraCall } from "../../../src/protocol/runner.ts";
import type { RunReporter } from "./executor.ts";
import { inputCharacters, outputCharacters } from "./token-estimate.ts";

/** English text in the tokens of most models. */
const CHARACTERS_PER_TOKEN = 4;

interface Tokens {
  input?: number | undefined;
  output?: number | undefined;
}

export class TokenUsage implements RunReporter {
  readonly #reporter: RunReporter;
  readonly #call: VendoraCall;
  readonly #input: Record<string, Json>;
  #usage: Tokens = {};
  #metrics: Tokens = {};
  #characters = 0;

  constructor(reporter: RunReporter, call: VendoraCall, input: Record<string, Json>) {
    this.#reporter = reporter;
    this.#call = call;
    this.#input = input;
  }

  setup(progress: SetupProgress): void {
    this.#reporter.setup(progress);
  }

  logs(text: string): void {
    this.#reporter.logs(text);
  }

  reserve(bytes: number): boolean {
    return this.#reporter.reserve(bytes);
  }

  outputJson(json: string): void {
    this.#reporter.outputJson(json);
  }

  storedOutput(value: StoredValue): void {
    this.#reporter.storedOutput(value);
  }

  output(value: Json): void {
    this.#usage = mergeTokens(this.#usage, readUsage(value));
    this.#characters += outputCharacters(value);
    this.#reporter.output(value);
  }

  /** Language models on Replicate say `input_token_count`. */
  metrics(metrics: Metrics): void {
    this.#metrics = mergeTokens(this.#metrics, {
      input: tokenCount(metrics.input_tokens) ?? tokenCount(metrics.input_token_count),
      output: tokenCount(metrics.output_tokens) ?? tokenCount(metrics.output_token_count),
    });
    this.#reporter.metrics(metrics);
  }

  /** After the last output. Runs that failed or were stopped have used what they have, too. */
  settle(): void {
    const input = this.#usage.input ?? this.#metrics.input;
    const reported = this.#usage.output ?? this.#metrics.output;
    const output = this.#call === "embeddings" ? 0 : reported;
    this.#reporter.metrics({
      input_tokens: input ?? estimate(inputCharacters(this.#input, CHARACTERS_PER_TOKEN)),
      output_tokens: output ?? estimate(this.#characters),
      ...(input === undefined || output === undefined ? { tokens_estimated: 1 } : {}),
    });
  }
}

const estimate = (characters: number) => Math.ceil(characters / CHARACTERS_PER_TOKEN);

/** Of a chunk, a completion, embeddings, a response or an event of one. */
function readUsage(value: Json): Tokens | undefined {
  if (!isObject(value)) return undefined;
  const usage = isObject(value.response) ? value.response.usage : value.usage;
  if (!isObject(usage)) return undefined;
  const input = tokenCount(usage.prompt_tokens ?? usage.input_tokens);
  const output = tokenCount(usage.completion_tokens ?? usage.output_tokens);
  return { input, output };
}

/** What is reported later counts, as far as it says something. */
const mergeTokens = (before: Tokens, later: Tokens | undefined): Tokens =>
  later ? { input: later.input ?? before.input, output: later.output ?? before.output } : before;

/** Containers say what they like: JSON's 1e999 is infinite, and no JSON any more. */
const tokenCount = (value: Json | undefined) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
