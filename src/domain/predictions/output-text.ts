/**
 * The text of an output, from its JSON text as it comes: strings as they are, chat messages by their text.
 */
import { parseExact } from "../../lib/exact-json.ts";
import { nextMark } from "../../lib/json.ts";
import { readableJson } from "../../lib/text.ts";
import { messageText } from "./message-text.ts";

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
  /** JSON text of the item that was not returned yet. */
  #held = "";
  #text = "";

  /** @param between the text between strings: empty if they are pieces of one text */
  constructor(between = "") {
    this.#between = between;
  }

  /** @returns the text that is known now */
  add(piece: string): string {
    for (let at = 0; at < piece.length; ) {
      if (this.#inString) at = this.#readString(piece, at);
      else this.#read(piece.charAt(at++));
    }
    if (this.#kind === "string") this.#tell(false);
    return this.#take();
  }

  /** @returns the rest of the text */
  end(): string {
    this.#endItem();
    return this.#take();
  }

  /** @returns where the next part begins */
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
    if (this.#kind !== undefined) this.#tell(true);
    this.#kind = undefined;
  }

  #tell(isWhole: boolean): void {
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
