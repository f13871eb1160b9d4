/** Event streams of the convention, made of a prediction's own as it comes. */
import { HEARTBEAT } from "../../domain/sse.ts";
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
): ReadableStream<Uint8Array> {
  const first = held.length > 0 ? [held] : [];
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let text = "";
      try {
        const entries = first.shift() ?? (await reader.next());
        // A log that has no end was removed meanwhile: its reader is not to take it for whole.
        if (!entries) throw new Error("the event log has no end");
        for (const entry of entries) text += writer.write(entry);
        // Whoever has left is only noticed by writing to them.
        controller.enqueue(encoder.encode(text || HEARTBEAT));
        if (entries.at(-1)?.event === "done") controller.close();
      } catch (error) {
        controller.enqueue(encoder.encode(text + writer.fail(error)));
        controller.close();
        await reader.cancel();
      }
    },
    cancel: () => reader.cancel(),
  });
}

/** An event of the convention. @param id of the entry that it ends, so that a reader can resume */
export const eventText = (data: string, id?: string, event?: string) =>
  `${id ? `id: ${id}\n` : ""}${event ? `event: ${event}\n` : ""}data: ${data}\n\n`;
