/**
 * A file that arrives in ranges, in any order, and can be read from its beginning meanwhile:
 *
 *   {path}.part    the bytes that have come, at their places
 *   {path}.ranges  a line that identifies the file, then a line for each range that is complete
 *
 * The next process continues the file, unless the machine was restarted: after a power failure a range may be
 * noted whose bytes never reached the disk.
 */
import { type FileHandle, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { untilAborted } from "../../../src/lib/timeout.ts";
import { internal } from "../../../src/run/failure.ts";
import { type ByteRange, frontRange, missingRanges, rangeAt, rangeCount } from "./range-plan.ts";

const READ_BYTES = 1024 * 1024;

const BOOT = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");

export class PartialFile {
  readonly size: number;
  readonly #path: string;
  readonly #bytes: number;
  readonly #come: Set<number>;
  readonly #part: FileHandle;
  readonly #notes: FileHandle;
  /** The first range that has not come. */
  #front = 0;
  #change = Promise.withResolvers<void>();

  /**
   * Opens the files that an earlier process has left, or makes new ones.
   * @param bytes of each range but the last
   */
  static async open(path: string, size: number, bytes: number): Promise<PartialFile> {
    const title = JSON.stringify({ size, bytes, boot: BOOT.trim() });
    const [first, ...lines] = (await readFile(`${path}.ranges`, "utf8").catch(() => "")).split(
      "\n",
    );
    const existing = first === title ? await open(`${path}.part`, "r+").catch(() => {}) : undefined;
    // The last line may be incomplete.
    const noted = existing ? lines.slice(0, -1).map(Number) : [];
    const come = new Set(noted.filter((index) => index < rangeCount(size, bytes)));
    await writeFile(`${path}.ranges`, [title, ...come, ""].join("\n"), { mode: 0o600 });
    const part = existing ?? (await open(`${path}.part`, "w+", 0o600));
    // The new file is a hole; its size identifies it for another process.
    await part.truncate(size);
    return new PartialFile(path, { size, bytes, come }, part, await open(`${path}.ranges`, "a"));
  }

  private constructor(
    path: string,
    { size, bytes, come }: { size: number; bytes: number; come: Set<number> },
    part: FileHandle,
    notes: FileHandle,
  ) {
    this.#path = path;
    this.size = size;
    this.#bytes = bytes;
    this.#come = come;
    this.#part = part;
    this.#notes = notes;
    this.#front = frontRange(rangeCount(size, bytes), come);
  }

  get missing(): number[] {
    return missingRanges(this.size, this.#bytes, this.#come);
  }

  get come(): number {
    return [...this.#come].reduce((sum, index) => sum + lengthOf(this.rangeAt(index)), 0);
  }

  rangeAt(index: number): ByteRange {
    return rangeAt(index, this.size, this.#bytes);
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    for (let written = 0; written < bytes.length; ) {
      const at = position + written;
      written += (await this.#part.write(bytes, written, bytes.length - written, at)).bytesWritten;
    }
  }

  /** To be called when all bytes of a range are written. */
  async note(index: number): Promise<void> {
    await this.#notes.appendFile(`${index}\n`);
    this.#come.add(index);
    this.#front = frontRange(rangeCount(this.size, this.#bytes), this.#come, this.#front);
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  /** Yields the file from its beginning, as it arrives. @throws the signal's reason */
  async *read(signal: AbortSignal): AsyncGenerator<Buffer> {
    for (let position = 0; position < this.size; ) {
      const end = Math.min(this.#front * this.#bytes, this.size);
      if (position === end) {
        await untilAborted(this.#change.promise, signal);
        continue;
      }
      const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, end - position));
      const { bytesRead } = await this.#part.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0) throw internal("a file of the runner's weights was cut");
      yield buffer.subarray(0, bytesRead);
      position += bytesRead;
    }
  }

  /** Ends the work on the file, which another call of `open` can continue. */
  async close(): Promise<void> {
    await Promise.all([this.#part.close(), this.#notes.close()]);
  }

  /** Ends the work on a complete file, which moves to `path`. */
  async finish(path: string): Promise<void> {
    // After `sync`, a file of the right size in its place is complete even after a power failure.
    await this.#part.sync();
    await this.#part.chmod(0o444);
    await this.close();
    await rename(`${this.#path}.part`, path);
    await rm(`${this.#path}.ranges`, { force: true });
  }
}

export const lengthOf = ({ first, last }: ByteRange): number => last - first + 1;
