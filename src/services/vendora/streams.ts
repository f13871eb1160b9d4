/** Event streams of the convention, made of a prediction's own as it comes. */
import { HEARTBEAT } from "../../lib/sse.ts";
import type { EventStream } from "../predictions/event-stream.ts";
import type { LogReader, NumberedEntry } from "./log-reader.ts";

export interface Writer {
  /** What an entry becomes, as text of the stream. Throws to end it. */
  write(entry: NumberedEntry): string;
  /** The last words of a stream that cannot go on. */
  fail(error: unknown): string;
}

const encoder = new TextEncoder();

/** @param held what was read before it began */
export function writtenStream(
  reader: LogReader,
  writer: Writer,
  held: NumberedEntry[] = [],
): EventStream {
  const first = held.length > 0 ? [held] : [];
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let lastWords: string | undefined;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const close = (text: string) => {
        controller.enqueue(encoder.encode(text));
        controller.close();
        resolve();
      };
      let text = "";
      try {
        const entries = first.shift() ?? (await reader.next());
        if (lastWords !== undefined) return close(lastWords);
        // A log that has no end was removed meanwhile: its reader is not to take it for whole.
        if (!entries) throw new Error("the event log has no end");
        for (const entry of entries) text += writer.write(entry);
        // Whoever has left is only noticed by writing to them.
        if (entries.at(-1)?.event === "done") return close(text);
        controller.enqueue(encoder.encode(text || HEARTBEAT));
      } catch (error) {
        close(text + writer.fail(error));
        await reader.cancel();
      }
    },
    async cancel() {
      resolve();
      await reader.cancel();
    },
  });
  return {
    body,
    over,
    end(words) {
      lastWords = words;
      return reader.cancel();
    },
  };
}

/** An event of the convention. @param id of the entry that it ends, so that a reader can resume */
export const eventText = (data: string, id?: string, event?: string) =>
  `${id ? `id: ${id}\n` : ""}${event ? `event: ${event}\n` : ""}data: ${data}\n\n`;
