/** Whether the text of an object is complete, by its braces: each piece is looked at once. */
export class ObjectScan {
  #depth = 0;
  #hasBegun = false;
  #isText = false;
  #isEscaped = false;

  get isWhole(): boolean {
    return this.#hasBegun && this.#depth === 0;
  }

  take(piece: string): void {
    for (const character of piece) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === '"') this.#isText = !this.#isText;
      else if (this.#isText) this.#isEscaped = character === "\\";
      else if (character === "{") {
        this.#hasBegun = true;
        this.#depth++;
      } else if (character === "}") this.#depth--;
    }
  }
}
