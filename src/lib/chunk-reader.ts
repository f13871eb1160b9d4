/** Reads a stream in pieces of the reader's choice. */

export class ChunkReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #left: Uint8Array = new Uint8Array();

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  /** @returns up to so many bytes, as soon as there are any; undefined at the end */
  async read(most: number): Promise<Uint8Array | undefined> {
    while (this.#left.byteLength === 0) {
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#left = value;
    }
    const piece = this.#left.subarray(0, most);
    this.#left = this.#left.subarray(piece.byteLength);
    return piece;
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}
