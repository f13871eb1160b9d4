/** A part of an item's content while it is written: text, a refusal, or reasoning. */
import { numberIn } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";

/** The kind of a part, which is also the middle of the names of its events. */
export type PartKind = "output_text" | "refusal" | "reasoning_text";

export class Part {
  readonly kind: PartKind;
  /**
   * The pieces of the text. They are joined only when read, so that the cost of a piece does not depend on
   * the text's length.
   */
  readonly #pieces: string[] = [];
  readonly #logprobs: Json[] = [];
  readonly annotations: Json[] = [];

  constructor(kind: PartKind) {
    this.kind = kind;
  }

  add(piece: string, logprobs: Json[]): void {
    this.#pieces.push(piece);
    for (const one of logprobs) this.#logprobs.push(one);
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** The fields of the event that ends the part. */
  get ending(): Fields {
    const text = this.#pieces.join("");
    if (this.kind === "refusal") return { refusal: text };
    return this.kind === "reasoning_text" ? { text } : { text, logprobs: [...this.#logprobs] };
  }

  /** The part so far, as in its item. */
  get value(): Fields {
    const { kind: type, ending } = this;
    return type === "output_text"
      ? { type, ...ending, annotations: [...this.annotations] }
      : { type, ...ending };
  }
}

/**
 * Returns logprobs with every field: the two published schemas require them, and not every server sends all.
 */
export const logprobsOf = (value: unknown): Json[] =>
  listOf(value).map((one) => ({
    ...logprobOf(one),
    top_logprobs: listOf(fieldsOf(one).top_logprobs).map(logprobOf),
  }));

function logprobOf(value: Json): Fields {
  const { token, logprob, bytes } = fieldsOf(value);
  return {
    token: textOf(token),
    logprob: numberIn(logprob) === undefined ? 0 : (logprob ?? 0),
    bytes: listOf(bytes),
  };
}
