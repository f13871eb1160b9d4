/**
 * Assembles a container's stream into the whole response that it would have sent without streaming,
 * with its own fields.
 */
import type { Json } from "../../protocol/common.ts";
import type { ChoiceFormat, ChoicePieces } from "./choice-stream.ts";
import { type Fields, fieldsOf, listOf } from "./response-json.ts";

export interface ResponseAssembler {
  /** Adds the next event. @throws TranslationFailed for an event of another convention */
  take(event: Json): void;
  /** The response so far; undefined before the first event. */
  readonly value: object | undefined;
}

/** Assembles a response that consists of choices. */
export class ChoicesAssembler<Choice extends { index: number }, Piece>
  implements ResponseAssembler
{
  readonly #format: ChoiceFormat<Choice, Piece>;
  readonly #callPrefix: string;
  /** Other fields of the chunks; the last value counts. */
  readonly #fields = new Map<string, unknown>();
  readonly #choices = new Map<number, ChoicePieces<Choice, Piece>>();
  readonly #wholes: ReturnType<ChoiceFormat<Choice, Piece>["wholes"]>;

  /** @param callPrefix the prefix of ids for calls that have none */
  constructor(format: ChoiceFormat<Choice, Piece>, callPrefix: string) {
    this.#format = format;
    this.#callPrefix = callPrefix;
    this.#wholes = format.wholes();
  }

  take(event: Json): void {
    for (const { choices, ...rest } of this.#format.chunksOf(event)) {
      // vLLM sends `usage: null` until the last chunk.
      for (const [name, value] of Object.entries(rest)) {
        if (value !== null && value !== undefined) this.#fields.set(name, value);
      }
      for (const choice of choices) this.#wholes.add(this.#piece(choice));
    }
  }

  get value(): object | undefined {
    const choices = this.#wholes.value;
    if (choices.length === 0 && this.#fields.size === 0) return undefined;
    return { ...Object.fromEntries(this.#fields), object: this.#format.whole, choices };
  }

  #piece(choice: Choice): Piece {
    const { index } = choice;
    const begun =
      this.#choices.get(index) ?? this.#format.begin(index, `${this.#callPrefix}_${index}`);
    this.#choices.set(index, begun);
    return begun.piece(choice);
  }
}

/** Takes the whole response from the last event; if a server omits the items there, from earlier events. */
export class NativeResponseAssembler implements ResponseAssembler {
  #response: Fields | undefined;
  readonly #items: Json[] = [];

  take(event: Json): void {
    const { type, response, item } = fieldsOf(event);
    if (type === "response.output_item.done" && item !== undefined) this.#items.push(item);
    if (response !== undefined) this.#response = fieldsOf(response);
  }

  get value(): object | undefined {
    if (!this.#response) return undefined;
    const output = listOf(this.#response.output);
    return { ...this.#response, output: output.length > 0 ? output : this.#items };
  }
}
