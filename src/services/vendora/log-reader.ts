/** A prediction's event stream, read event by event. */
import { createParser } from "eventsource-parser";
import type { LogEntry } from "../../domain/vendora/translation.ts";

export interface NumberedEntry extends LogEntry {
  id: string;
}

export class LogReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #entries: NumberedEntry[] = [];
  readonly #parser = createParser({
    onEvent: ({ id = "", event = "", data }) => {
      this.#entries.push({ id, event, data: JSON.parse(data) });
    },
  });
  #pending: Promise<NumberedEntry[] | undefined> | undefined;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  /** What comes next, none for a heartbeat; undefined at the end. Asked twice it is one wait. */
  peek(): Promise<NumberedEntry[] | undefined> {
    this.#pending ??= this.#read();
    return this.#pending;
  }

  /** What `peek` has shown is taken. */
  take(): void {
    this.#pending = undefined;
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }

  async #read(): Promise<NumberedEntry[] | undefined> {
    const { done, value } = await this.#reader.read();
    if (done) return undefined;
    this.#parser.feed(this.#decoder.decode(value, { stream: true }));
    return this.#entries.splice(0);
  }
}
