/** The last of what a container printed, for the error of one that died. */
const MAX_BYTES = 8_192;

export class Tail {
  #chunks: Buffer[] = [];
  #bytes = 0;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < 2 * MAX_BYTES) return;
    const kept = Buffer.concat(this.#chunks).subarray(-MAX_BYTES);
    this.#chunks = [Buffer.from(kept)];
    this.#bytes = kept.length;
  }

  clear(): void {
    this.#chunks = [];
    this.#bytes = 0;
  }

  toString(): string {
    return Buffer.concat(this.#chunks).subarray(-MAX_BYTES).toString().trimEnd();
  }
}
