/** The text of an output, from its JSON text: strings as they are, chat messages by their text. */
import { parseExact } from "../../lib/exact-json.ts";
import { nextMark } from "../../lib/json.ts";
import { readableJson } from "../../lib/text.ts";
import type { Json } from "../../protocol/common.ts";

/** A value that is no string is held until its end; the text of a larger one is its JSON. */
const MAX_HELD_CHARS = 4_000_000;

/** Returns the escape at the end of a piece that goes on in the next piece. */
function tornEscape(json: string): string {
  const [, slashes = "", rest = ""] = /(\\+)(u[\dA-Fa-f]{0,3})?$/.exec(json) ?? [];
  return slashes.length % 2 === 1 ? `\\${rest}` : "";
}

type Kind = "string" | "other";

export class OutputText {
  readonly #between: string;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** The depth of the items: 1 in a list, else the output itself is the only one. */
  #level = 0;
  #isFirst = true;
  #kind: Kind | undefined;
  #held = "";
  #text = "";

  /** @param between the text between strings: empty if they are pieces of one text */
  constructor(between = "") {
    this.#between = between;
  }

  add(piece: string): string {
    for (let at = 0; at < piece.length; ) {
      if (this.#inString) at = this.#readString(piece, at);
      else this.#read(piece.charAt(at++));
    }
    if (this.#kind === "string") this.#emit(false);
    return this.#take();
  }

  end(): string {
    this.#endItem();
    return this.#take();
  }

  #readString(piece: string, from: number): number {
    const found = this.#isEscaped ? from : nextMark(piece, from);
    const mark = piece.charAt(found);
    const isEnd = mark === '"' && !this.#isEscaped;
    this.#held += piece.slice(from, isEnd && this.#kind === "string" ? found : found + 1);
    this.#isEscaped = !this.#isEscaped && mark === "\\";
    if (isEnd) this.#inString = false;
    return found + 1;
  }

  #read(character: string): void {
    const isAtItem = this.#depth === this.#level;
    if (character === "[" && this.#depth === 0 && this.#kind === undefined && this.#level === 0) {
      this.#depth = 1;
      this.#level = 1;
    } else if (isAtItem && (character === "," || character === "]")) {
      this.#endItem();
      if (character === "]") this.#depth -= 1;
    } else if (isAtItem && character === '"') {
      this.#inString = true;
      this.#kind = "string";
      if (!this.#isFirst) this.#text += this.#between;
    } else if (character.trim() !== "") this.#readOther(character);
  }

  #readOther(character: string): void {
    this.#kind = "other";
    if (character === '"') this.#inString = true;
    else if (character === "{" || character === "[") this.#depth += 1;
    else if (character === "}" || character === "]") this.#depth -= 1;
    this.#held += character;
  }

  #endItem(): void {
    if (this.#kind !== undefined) this.#emit(true);
    this.#kind = undefined;
  }

  #emit(isWhole: boolean): void {
    const torn = isWhole ? "" : tornEscape(this.#held);
    const whole = this.#held.slice(0, this.#held.length - torn.length);
    this.#text += this.#kind === "other" ? this.#textOfOther() : JSON.parse(`"${whole}"`);
    this.#held = torn;
    this.#isFirst = false;
  }

  #textOfOther(): string {
    if (this.#held === "null") return "";
    if (this.#held.length > MAX_HELD_CHARS) return `${this.#held}\n`;
    const value = parseExact(this.#held);
    return messageText(value, this.#isFirst) ?? `${readableJson(value)}\n`;
  }

  #take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }
}

/** The text in a response of OpenAI's API, whole or streamed, with reasoning and refusals. */

/**
 * @param isFirst whether nothing was displayed before it
 * @returns "" for an event without text of its own; undefined when the value is something else, or
 * has more than text
 */
export function messageText(value: Json, isFirst: boolean): string | undefined {
  const body = part(value);
  if (!body) return undefined;
  if (typeof body.type === "string" && body.type.startsWith("response."))
    return inEvent(body.type, body, isFirst);
  if (!Array.isArray(body.choices)) return undefined;
  // The last chunk of a stream may carry only the usage.
  if (body.choices.length === 0) return isNothing(body.error) ? "" : undefined;
  const choice = part(body.choices[0]);
  const piece = part(choice?.delta);
  const message = piece ?? part(choice?.message);
  if (!message || body.choices.length > 1) return undefined;
  return inMessage(message, piece ? "" : "\n\n");
}

type Part = { [key: string]: Json };

const part = (value: Json | undefined): Part | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;

const isNothing = (value: Json | undefined) =>
  value === undefined ||
  value === null ||
  value === "" ||
  (Array.isArray(value) && value.length === 0);

function inMessage(message: Part, between: string): string | undefined {
  const { role, tool_calls, function_call, ...rest } = message;
  if (!isNothing(tool_calls) || !isNothing(function_call)) return undefined;
  const texts = [rest.reasoning_content ?? rest.reasoning, rest.content, rest.refusal]
    .filter((one) => !isNothing(one))
    .map(textIn);
  if (texts.length === 0) return Object.values(rest).every(isNothing) ? "" : undefined;
  return texts.some((text) => text === undefined) ? undefined : texts.join(between);
}

function textIn(content: Json | undefined): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((one) => {
    const { text, refusal } = part(one) ?? {};
    return [text, refusal].find((words) => typeof words === "string");
  });
  return texts.includes(undefined) ? undefined : texts.join("");
}

const DELTAS = new Set([
  "response.output_text.delta",
  "response.refusal.delta",
  "response.reasoning_text.delta",
  "response.reasoning_summary_text.delta",
]);

/** Events without text, and those of tool calls, whose finished items have everything. */
const NO_TEXT = new Set([
  ...["response.created", "response.queued", "response.in_progress", "response.output_item.added"],
  ...["response.content_part.added", "response.reasoning_summary_part.added"],
  ...["response.function_call_arguments.delta", "response.function_call_arguments.done"],
]);

/** Events that repeat the whole text: used only when there were no deltas. */
const WHOLES: Record<string, (event: Part) => string | undefined> = {
  "response.output_text.done": ({ text }) => textIn(text),
  "response.refusal.done": ({ refusal }) => textIn(refusal),
  "response.reasoning_text.done": ({ text }) => textIn(text),
  "response.reasoning_summary_text.done": ({ text }) => textIn(text),
  "response.content_part.done": (event) => textIn([event.part ?? null]),
  "response.reasoning_summary_part.done": (event) => textIn([event.part ?? null]),
  "response.completed": ({ response }) => inItems(part(response)?.output),
};

function inEvent(type: string, event: Part, isFirst: boolean): string | undefined {
  if (DELTAS.has(type)) return textIn(event.delta);
  if (NO_TEXT.has(type)) return "";
  if (type === "response.output_item.done") {
    const item = part(event.item);
    const isSpoken = item?.type === "message" || item?.type === "reasoning";
    return isSpoken && !isFirst ? "" : inItems([event.item ?? null]);
  }
  const whole = WHOLES[type];
  if (!whole) return undefined;
  return isFirst ? whole(event) : "";
}

/** Items of a response; undefined when one has more than text. */
function inItems(items: Json | undefined): string | undefined {
  if (!Array.isArray(items)) return undefined;
  const texts = items.map((one) => {
    const { type, content, summary } = part(one) ?? {};
    if (type === "message") return textIn(content);
    return type === "reasoning" ? textIn(isNothing(content) ? summary : content) : undefined;
  });
  return texts.includes(undefined) ? undefined : texts.filter((text) => text !== "").join("\n\n");
}
