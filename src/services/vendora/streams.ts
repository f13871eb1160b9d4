/** Translates a prediction's event stream into one of a convention. */
import { HEARTBEAT } from "../../lib/sse.ts";
import type { EventStream } from "../predictions/event-stream.ts";
import type { LogReader, NumberedEntry } from "./log-reader.ts";

export interface Writer {
  /** Translates an entry into text of the stream. Throws to end it. */
  write(entry: NumberedEntry): string;
  /** The last event of a stream that breaks off. */
  fail(error: unknown): string;
  /** What is sent while there is nothing to tell; a comment, if the convention has no event for it. */
  heartbeat?(): string;
}

const encoder = new TextEncoder();

/** @param held entries that were read before the response began */
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
        // The log was deleted meanwhile: the stream must not look complete.
        if (!entries) throw new Error("the event log has no end");
        for (const entry of entries) text += writer.write(entry);
        // A disconnect is only noticed by writing: hence the heartbeat.
        if (entries.at(-1)?.event === "done") return close(text);
        controller.enqueue(encoder.encode(text || (writer.heartbeat?.() ?? HEARTBEAT)));
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

/** An event of the convention. @param id of the entry that it completes, for resuming */
export const eventText = (data: string, id?: string, event?: string) =>
  `${id ? `id: ${id}\n` : ""}${event ? `event: ${event}\n` : ""}data: ${data}\n\n`;
