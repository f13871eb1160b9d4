/** The vectors of an output as lines of CSV, from its JSON text as it comes: one is held at a time. */
import { csvLine } from "../../lib/csv.ts";
import { nextMark } from "../../lib/json-marks.ts";
import type { Json } from "../../protocol/common.ts";

const BRACKET = /["[\]{}]/g;

/** Of the JSON text of one: more is none of a model. */
const MAX_HELD_CHARS = 1_000_000;

export class VectorLines {
  readonly #dimension: number;
  #inString = false;
  #isEscaped = false;
  /** What has come of a list that has held nothing but numbers. */
  #held: string | undefined;

  /** @param dimension of the vectors: other lists are none */
  constructor(dimension: number) {
    this.#dimension = dimension;
  }

  /** @returns the lines that are whole now */
  add(piece: string): string {
    let lines = "";
    for (let at = 0; at < piece.length; ) {
      if (this.#inString) {
        at = this.#readString(piece, at);
        continue;
      }
      BRACKET.lastIndex = at;
      const found = BRACKET.exec(piece)?.index ?? piece.length;
      this.#hold(piece.slice(at, found));
      lines += this.#read(piece.charAt(found));
      at = found + 1;
    }
    return lines;
  }

  /** @returns where it goes on */
  #readString(piece: string, from: number): number {
    if (this.#isEscaped) {
      this.#isEscaped = false;
      return from + 1;
    }
    const found = nextMark(piece, from);
    this.#inString = piece.charAt(found) !== '"';
    this.#isEscaped = piece.charAt(found) === "\\";
    return found + 1;
  }

  #hold(text: string): void {
    if (this.#held === undefined) return;
    const held = this.#held + text;
    this.#held = held.length > MAX_HELD_CHARS ? undefined : held;
  }

  /** @param mark empty at the end of a piece */
  #read(mark: string): string {
    if (mark === "") return "";
    const held = this.#held;
    this.#held = mark === "[" ? "" : undefined;
    this.#inString = mark === '"';
    return mark === "]" && held !== undefined ? this.#lineOf(JSON.parse(`[${held}]`)) : "";
  }

  #lineOf(list: Json[]): string {
    const numbers = list.filter((one) => typeof one === "number");
    return numbers.length === list.length && list.length === this.#dimension
      ? csvLine(numbers)
      : "";
  }
}
