/**
 * Assembles a container's stream into the whole response that it would have sent without streaming,
 * with its own fields.
 */
import type { Json } from "../../protocol/common.ts";
import { ChatChoice, type StreamedChoice } from "./chat-choice.ts";
import { chunksOf } from "./chat-chunks.ts";
import { ChoiceAssembler } from "./choice-assembler.ts";
import { type Fields, fieldsOf, listOf } from "./response-json.ts";

export interface ResponseAssembler {
  /** Adds the next event. @throws TranslationFailed for one that is not of the convention */
  take(event: Json): void;
  /** The response so far; undefined before the first event. */
  readonly value: object | undefined;
}

export class ChatAssembler implements ResponseAssembler {
  readonly #callPrefix: string;
  /** The chunks' other fields; the last value counts. */
  readonly #fields = new Map<string, unknown>();
  readonly #choices = new Map<number, ChatChoice>();
  readonly #wholes = new ChoiceAssembler();

  /** @param callPrefix of the ids of calls that have none */
  constructor(callPrefix: string) {
    this.#callPrefix = callPrefix;
  }

  take(event: Json): void {
    for (const { choices, ...rest } of chunksOf(event)) {
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
    return { ...Object.fromEntries(this.#fields), object: "chat.completion", choices };
  }

  #piece(choice: Parameters<ChatChoice["piece"]>[0]): StreamedChoice {
    const { index } = choice;
    const choiceState =
      this.#choices.get(index) ?? new ChatChoice(index, `${this.#callPrefix}_${index}`);
    this.#choices.set(index, choiceState);
    return choiceState.piece(choice);
  }
}

/** The last event has the whole response; if a server omits the items there, those of earlier events. */
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
