/** The content of a message: its blocks, one after the other, and their events. */

import { parseExact } from "../../lib/exact-json.ts";
import { type Fields, fieldsOf, isFields, textOf } from "../../lib/fields.ts";
import { JsonScan } from "../../lib/json-scan.ts";
import { FRAME_BOUNDS } from "../../protocol/channel.ts";
import type { Json } from "../../protocol/common.ts";
import { TranslationFailed } from "../openai/translation.ts";

export type StreamEvent = Fields & { type: string };

const encoder = new TextEncoder();

export class MessageContent {
  readonly #id: string;
  readonly #emit: (event: StreamEvent) => void;
  readonly #blocks: Block[] = [];
  #open: Block | undefined;

  constructor(id: string, emit: (event: StreamEvent) => void) {
    this.#id = id;
    this.#emit = emit;
  }

  /** @throws TranslationFailed if the inputs of its calls are too large to be parsed */
  get value(): Json[] {
    this.#checkInputs();
    return this.#blocks.map(({ value }) => value);
  }

  get hasCalls(): boolean {
    return this.#blocks.some((block) => block instanceof CallBlock);
  }

  say(type: "text" | "thinking", text: string): void {
    if (this.#open?.begun.type !== type) this.begin({ type });
    this.add({ type: `${type}_delta`, [type]: text });
  }

  /** @param block at its beginning, as a container describes it; a call may already have its input */
  begin(block: Fields): Block {
    this.close();
    const index = this.#blocks.length;
    const begun = this.#blockOf(block, index);
    this.#open = begun;
    this.#blocks.push(begun);
    this.#emit({ type: "content_block_start", index, content_block: begun.begun });
    // The ping is sent where the convention's own service sends it: some clients wait for one.
    if (index === 0) this.#emit({ type: "ping" });
    return begun;
  }

  add(delta: Fields): boolean {
    if (!this.#open?.add(delta)) return false;
    this.#emit({ type: "content_block_delta", index: this.#blocks.length - 1, delta });
    return true;
  }

  close(): void {
    if (!this.#open) return;
    for (const delta of this.#open.ending()) this.add(delta);
    this.#open = undefined;
    this.#emit({ type: "content_block_stop", index: this.#blocks.length - 1 });
  }

  whole(block: Fields): void {
    const { type, text, thinking, signature, citations } = block;
    this.begin(block);
    if (textOf(text)) this.add({ type: "text_delta", text: text ?? "" });
    if (Array.isArray(citations))
      for (const citation of citations) this.add({ type: "citations_delta", citation });
    if (textOf(thinking)) this.add({ type: "thinking_delta", thinking: thinking ?? "" });
    if (type === "thinking" && textOf(signature))
      this.add({ type: "signature_delta", signature: signature ?? "" });
    this.close();
  }

  /** Checks the bounds of the calls' inputs: in the log they were strings, whose content is not counted. */
  #checkInputs(): void {
    const { depth } = FRAME_BOUNDS;
    let { values } = FRAME_BOUNDS;
    for (const block of this.#blocks) {
      if (!(block instanceof CallBlock)) continue;
      const scan = new JsonScan({ depth, values });
      if (scan.feed(encoder.encode(block.json)))
        throw new TranslationFailed(
          "The inputs of the model's calls have too many values or are nested too deeply.",
        );
      values -= scan.values;
    }
  }

  #blockOf(block: Fields, index: number): Block {
    switch (block.type) {
      case "text":
        return new TextBlock();
      case "thinking":
        return new ThinkingBlock(`${this.#id}_${index}`);
      case "tool_use": {
        const id = textOf(block.id) || `toolu_${this.#id.slice(-32)}_${index}`;
        return new CallBlock(id, textOf(block.name), fieldsOf(block.input));
      }
      default:
        return new ForeignBlock(block);
    }
  }
}

interface Block {
  /** The block as its stream begins with it: without its content. */
  readonly begun: Fields;
  readonly value: Fields;
  add(delta: Fields): boolean;
  /** Returns the deltas that are still missing at the block's end. */
  ending(): Fields[];
}

class TextBlock implements Block {
  readonly begun: Fields = { type: "text", text: "" };
  #text = "";
  readonly #citations: Fields[] = [];

  /** Returns the block without empty citations: the AI SDK refuses null, which the official types allow. */
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

/** A block of thinking, with a signature: clients send it back, and some leave out one without. */
class ThinkingBlock implements Block {
  readonly begun: Fields = { type: "thinking", thinking: "", signature: "" };
  readonly #ownSignature: string;
  #thinking = "";
  #signature = "";

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

class CallBlock implements Block {
  readonly begun: Fields;
  /** The input that the container sent at the beginning of the block, instead of in pieces. */
  readonly #given: Fields;
  #json = "";

  constructor(id: string, name: string, given: Fields = {}) {
    this.begun = { type: "tool_use", id, name, input: {}, caller: { type: "direct" } };
    this.#given = given;
  }

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
class ForeignBlock implements Block {
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
