/** The end of a container's output: for the error when it dies, and for followers. */
import { StringDecoder } from "node:string_decoder";

const MAX_BYTES = 8_192;

export class LogTail {
  #chunks: Buffer[] = [];
  #bytes = 0;
  readonly #followers = new Set<(chunk: Buffer) => void>();

  /**
   * Calls the listener with the buffered and all further output, until the returned function is
   * called.
   */
  follow(listener: (text: string) => void): () => void {
    const decoder = new StringDecoder();
    const write = (chunk: Buffer) => {
      const text = decoder.write(chunk);
      if (text) listener(text);
    };
    for (const chunk of this.#chunks) write(chunk);
    this.#followers.add(write);
    return () => this.#followers.delete(write);
  }

  push(chunk: Buffer): void {
    for (const write of this.#followers) write(chunk);
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < 2 * MAX_BYTES) return;
    const last = Buffer.concat(this.#chunks).subarray(-MAX_BYTES);
    this.#chunks = [Buffer.from(last)];
    this.#bytes = last.length;
  }

  clear(): void {
    this.#chunks = [];
    this.#bytes = 0;
  }

  toString(): string {
    return Buffer.concat(this.#chunks).subarray(-MAX_BYTES).toString().trimEnd();
  }
}
