/** Picks the text of one member out of the JSON text of an object, as it comes, whatever it is cut into. */
import { nextMark } from "../../lib/json-marks.ts";

const MAX_KEY = 100;

export class JsonMember {
  readonly #name: string;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** The key that is being read, or was read last, as JSON text. */
  #key = "";
  #mayBeKey = false;
  #isInside = false;

  constructor(name: string) {
    this.#name = name;
  }

  /** @returns what of the member is in this piece */
  add(piece: string): string {
    let inside = "";
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      if (this.#inString) {
        at = this.#readString(piece, at);
        continue;
      }
      const wasInside = this.#isInside;
      this.#read(piece.charAt(at));
      if (!wasInside && this.#isInside) from = at + 1;
      if (wasInside && !this.#isInside) inside += piece.slice(from, at);
    }
    return this.#isInside ? inside + piece.slice(from) : inside;
  }

  /** @returns the last place that was read */
  #readString(piece: string, from: number): number {
    const found = this.#isEscaped ? from : nextMark(piece, from);
    const mark = piece.charAt(found);
    if (mark === '"' && !this.#isEscaped) this.#inString = false;
    this.#isEscaped = !this.#isEscaped && mark === "\\";
    const end = this.#inString ? found + 1 : found;
    // A longer one is no name that anybody looks for.
    if (this.#mayBeKey && this.#key.length < MAX_KEY) this.#key += piece.slice(from, end);
    return found;
  }

  #read(character: string): void {
    switch (character) {
      case '"':
        this.#inString = true;
        if (this.#mayBeKey) this.#key = "";
        break;
      case "{":
      case "[":
        this.#depth += 1;
        this.#mayBeKey = this.#depth === 1;
        break;
      case "}":
      case "]":
        this.#depth -= 1;
        if (this.#depth === 0) this.#isInside = false;
        break;
      case ",":
        if (this.#depth !== 1) break;
        this.#isInside = false;
        this.#mayBeKey = true;
        break;
      case ":":
        if (this.#depth !== 1 || !this.#mayBeKey) break;
        this.#mayBeKey = false;
        this.#isInside = this.#key === this.#name;
        break;
    }
  }
}
