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

/**
 * @param held what was read before it began
 * @param late rejects when the time of the call is up
 */
export function writtenStream(
  reader: LogReader,
  writer: Writer,
  held: NumberedEntry[],
  late: Promise<never> | undefined,
): ReadableStream<Uint8Array> {
  const waiting = held.length > 0 ? [held] : [];
  const next = async () => {
    const coming = waiting.shift() ?? reader.peek();
    const entries = await (late ? Promise.race([coming, late]) : coming);
    if (coming instanceof Promise) reader.take();
    return entries;
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const entries = await next();
        if (!entries) return controller.close();
        const text = entries.map((entry) => writer.write(entry)).join("");
        // Whoever has left is only noticed by writing to them.
        controller.enqueue(encoder.encode(text || HEARTBEAT));
      } catch (error) {
        controller.enqueue(encoder.encode(writer.fail(error)));
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

/** Rejects after so many seconds; without anybody who waits for it, nothing happens. */
export function timer(seconds: number, error: Error): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  setTimeout(() => reject(error), seconds * 1_000);
  promise.catch(() => {});
  return promise;
}
