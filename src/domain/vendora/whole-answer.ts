/**
 * What a server streams, as the answer in one piece that it would have given instead: its own, with
 * its own fields. It is read like all that containers say.
 */
import type { Json } from "../../protocol/common.ts";
import { ChatChoice, type StreamedChoice } from "./chat-choice.ts";
import { chunksOf } from "./chat-chunks.ts";
import { WholeChoices } from "./chat-whole.ts";
import { type Fields, fieldsOf, listOf } from "./response-json.ts";

export interface WholeAnswer {
  /** The next event. Throws Untranslatable for what is none of the convention. */
  take(event: Json): void;
  /** As far as it has come; undefined when nothing has. */
  readonly value: object | undefined;
}

export class WholeChat implements WholeAnswer {
  readonly #callPrefix: string;
  /** Whatever the chunks say beside their choices: the last word counts. */
  readonly #fields = new Map<string, unknown>();
  readonly #choices = new Map<number, ChatChoice>();
  readonly #wholes = new WholeChoices();

  /** `callPrefix`: what ids of calls begin with that the container gave none. */
  constructor(callPrefix: string) {
    this.#callPrefix = callPrefix;
  }

  take(event: Json): void {
    for (const { choices, ...rest } of chunksOf(event)) {
      // vLLM writes `usage: null` until it knows.
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
    const known = this.#choices.get(index) ?? new ChatChoice(index, `${this.#callPrefix}_${index}`);
    this.#choices.set(index, known);
    return known.piece(choice);
  }
}

/** The last event of a response has all of it; of a server that leaves the items out, as they came. */
export class WholeResponse implements WholeAnswer {
  #response: Fields | undefined;
  readonly #items: Json[] = [];

  take(event: Json): void {
    const { type, response, item } = fieldsOf(event);
    if (type === "response.output_item.done" && item !== undefined) this.#items.push(item);
    if (response !== undefined) this.#response = fieldsOf(response);
  }

  get value(): object | undefined {
    if (!this.#response) return undefined;
    const said = listOf(this.#response.output);
    return { ...this.#response, output: said.length > 0 ? said : this.#items };
  }
}
