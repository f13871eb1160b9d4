/** A call of a function that the model asks for. */
import type { ResponseItem } from "../../protocol/vendora/response.ts";
import { OutputItem, type Place } from "./response-item.ts";
import { type Fields, textOf } from "./response-json.ts";

export class CallItem extends OutputItem {
  readonly type = "function_call";
  readonly #callId: string;
  #name: string;
  readonly #pieces: string[] = [];

  constructor(place: Place, callId: string, name: string) {
    super(place);
    this.#callId = callId;
    this.#name = name;
  }

  get value(): ResponseItem {
    const { id, type, status } = this;
    const args = this.#pieces.join("");
    return { id, type, status, call_id: this.#callId, name: this.#name, arguments: args };
  }

  /** Continues the arguments. */
  say(delta: string): void {
    if (delta === "") return;
    this.#pieces.push(delta);
    this.tell("response.function_call_arguments.delta", { delta });
  }

  complete({ name, arguments: args }: Fields): void {
    this.#name ||= textOf(name);
    if (this.#pieces.length === 0) this.say(textOf(args));
  }

  protected end(): void {
    this.tell("response.function_call_arguments.done", {
      name: this.#name,
      arguments: this.#pieces.join(""),
    });
  }
}
