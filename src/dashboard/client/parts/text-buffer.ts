/** Collects streamed text and flushes it once per animation frame. */
export class TextBuffer {
  readonly #take: (text: string) => void;
  #pieces: string[] = [];
  #frame: number | undefined;

  constructor(take: (text: string) => void) {
    this.#take = take;
  }

  add(text: string): void {
    if (text === "") return;
    this.#pieces.push(text);
    this.#frame ??= requestAnimationFrame(() => this.flush());
  }

  flush(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    const text = this.#pieces.join("");
    this.#pieces = [];
    if (text !== "") this.#take(text);
  }
}
