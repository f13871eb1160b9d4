/** A part of an item's content that grows: text, a refusal, or thought. */
import type { Json } from "../../protocol/common.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";

/** Also the middle of the names of the events that tell of it. */
export type PartKind = "output_text" | "refusal" | "reasoning_text";

export class Part {
  readonly kind: PartKind;
  /** Joined when they are asked for, so that a piece costs the same however long the text is. */
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

  /** What the event that ends it says of it. */
  get ending(): Fields {
    const text = this.#pieces.join("");
    if (this.kind === "refusal") return { refusal: text };
    return this.kind === "reasoning_text" ? { text } : { text, logprobs: [...this.#logprobs] };
  }

  /** As it stands, as the item has it. */
  get value(): Fields {
    const { kind: type, ending } = this;
    return type === "output_text"
      ? { type, ...ending, annotations: [...this.annotations] }
      : { type, ...ending };
  }
}

/** Both published schemas want every field, which not every server fills. */
export const logprobsOf = (value: unknown): Json[] =>
  listOf(value).map((one) => ({
    ...logprobOf(one),
    top_logprobs: listOf(fieldsOf(one).top_logprobs).map(logprobOf),
  }));

function logprobOf(value: Json): Fields {
  const { token, logprob, bytes } = fieldsOf(value);
  return {
    token: textOf(token),
    logprob: typeof logprob === "number" ? logprob : 0,
    bytes: listOf(bytes),
  };
}
