/** A block of a message's content, while it is written. */
import { parseExact } from "../../lib/exact-json.ts";
import { type Fields, fieldsOf, isFields, textOf } from "../openai/response-json.ts";

export interface Block {
  /** The block as its stream begins with it: without its content. */
  readonly begun: Fields;
  /** The whole block so far. */
  readonly value: Fields;
  /** @returns whether such a block has such a delta */
  add(delta: Fields): boolean;
  /** Returns the deltas that are still missing at the block's end. */
  ending(): Fields[];
}

export class TextBlock implements Block {
  readonly begun: Fields = { type: "text", text: "" };
  #text = "";
  readonly #citations: Fields[] = [];

  /**
   * Returns the block. Without citations the field is left out: the AI SDK refuses null, which the official
   * types allow.
   */
  get value(): Fields {
    const citations = this.#citations;
    return { type: "text", text: this.#text, ...(citations.length > 0 && { citations }) };
  }

  add({ type, text, citation }: Fields): boolean {
    if (type === "citations_delta" && isFields(citation)) this.#citations.push(citation);
    else if (type === "text_delta") this.#text += textOf(text);
    else return false;
    return true;
  }

  ending(): Fields[] {
    return [];
  }
}

/**
 * A block of thinking, with a signature: clients send the block back, and some leave out one that is not
 * signed.
 */
export class ThinkingBlock implements Block {
  readonly begun: Fields = { type: "thinking", thinking: "", signature: "" };
  readonly #ownSignature: string;
  #thinking = "";
  #signature = "";

  /** @param ownSignature the signature if the container gives none */
  constructor(ownSignature: string) {
    this.#ownSignature = ownSignature;
  }

  get value(): Fields {
    return { type: "thinking", thinking: this.#thinking, signature: this.#signature };
  }

  add({ type, thinking, signature }: Fields): boolean {
    if (type === "signature_delta") this.#signature = textOf(signature);
    else if (type === "thinking_delta") this.#thinking += textOf(thinking);
    else return false;
    return true;
  }

  ending(): Fields[] {
    if (this.#signature !== "") return [];
    this.#signature = this.#ownSignature;
    return [{ type: "signature_delta", signature: this.#signature }];
  }
}

export class CallBlock implements Block {
  readonly begun: Fields;
  /** The input that the container sent at the beginning of the block, instead of in pieces. */
  readonly #given: Fields;
  #json = "";

  constructor(id: string, name: string, given: Fields = {}) {
    this.begun = { type: "tool_use", id, name, input: {}, caller: { type: "direct" } };
    this.#given = given;
  }

  /** The block's input as JSON text. */
  get json(): string {
    return this.#json;
  }

  get value(): Fields {
    return { ...this.begun, input: this.#json === "" ? this.#given : parsedInput(this.#json) };
  }

  add({ type, partial_json }: Fields): boolean {
    if (type !== "input_json_delta") return false;
    this.#json += textOf(partial_json);
    return true;
  }

  ending(): Fields[] {
    if (this.#json !== "" || Object.keys(this.#given).length === 0) return [];
    return [{ type: "input_json_delta", partial_json: JSON.stringify(this.#given) }];
  }
}

/** A block of another type: it is passed on as the container has it. */
export class ForeignBlock implements Block {
  readonly begun: Fields;

  constructor(block: Fields) {
    this.begun = block;
  }

  get value(): Fields {
    return this.begun;
  }

  add(): boolean {
    return false;
  }

  ending(): Fields[] {
    return [];
  }
}

/** Returns the input of a call; empty for a call that was cut off, whose input cannot be parsed. */
function parsedInput(json: string): Fields {
  try {
    return fieldsOf(parseExact(json));
  } catch {
    return {};
  }
}
