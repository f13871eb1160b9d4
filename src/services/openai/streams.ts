/** Translates a prediction's event stream into one of a convention. */
import { HEARTBEAT } from "../../lib/sse.ts";
import type { EventStream } from "../access/concurrency-limit.ts";
import type { LogReader, NumberedEntry } from "./log-reader.ts";

/** The version that has answered the call of a deployment: `owner/name:number`. */
export const ANSWERED_BY_HEADER = "x-auspex-answered-by";

/**
 * Names the version that has answered in a stream that began before it was known. Clients skip comments, and no
 * format of the conventions has a field for it. A blank line would be an event to some of them.
 */
export const answeredByComment = (version: string | undefined) =>
  version === undefined ? "" : `: ${ANSWERED_BY_HEADER}: ${version}\n`;

/** Whether no fallback can answer any more. */
const isDecisive = ({ event }: NumberedEntry) => event === "output" || event === "done";

export interface Writer {
  /** Translates an entry into text of the stream, or into bytes as they arrive. Throws to end the stream. */
  write(entry: NumberedEntry): string | AsyncIterable<Uint8Array>;
  /** Returns the last event of a stream that breaks off. */
  fail(error: unknown): string;
  /** Returns the event for a silent model. Without this function a comment is sent. */
  heartbeat?(): string;
}

/**
 * The silence after which a heartbeat is sent, half the time between heartbeats of the log: entries that the
 * convention does not show come more often.
 */
const QUIET_MS = 7_500;

const encoder = new TextEncoder();

/** @param held entries that were read before the response began */
export function writtenStream(
  reader: LogReader,
  writer: Writer,
  held: NumberedEntry[] = [],
): EventStream {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let lastWords: string | undefined;
  const answeredBy = held.some(isDecisive) ? reader.answeredBy : undefined;
  const written = writtenBytes(reader, writer, held, () => lastWords);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await written.next();
      if (value) controller.enqueue(value);
      if (!done) return;
      controller.close();
      resolve();
    },
    async cancel() {
      resolve();
      await reader.cancel();
    },
  });
  return {
    body,
    over,
    answeredBy,
    end(words) {
      lastWords = words;
      return reader.cancel();
    },
  };
}

/** @returns the text that ends the stream */
async function* writtenBytes(
  reader: LogReader,
  writer: Writer,
  held: NumberedEntry[],
  lastWords: () => string | undefined,
): AsyncGenerator<Uint8Array, Uint8Array, void> {
  const first = held.length > 0 ? [held] : [];
  let isNamed = held.some(isDecisive);
  let text = "";
  let sentAt = 0;
  try {
    for (;;) {
      text = "";
      let isSilent = true;
      const entries = first.shift() ?? (await reader.next());
      const words = lastWords();
      if (words !== undefined) return encoder.encode(words);
      // The log was deleted meanwhile: the error keeps the stream from looking complete.
      if (!entries) throw new Error("the event log has no end");
      for (const entry of entries) {
        if (!isNamed && isDecisive(entry)) {
          isNamed = true;
          text += answeredByComment(reader.answeredBy);
        }
        const written = writer.write(entry);
        if (typeof written === "string") {
          text += written;
          continue;
        }
        if (text !== "") yield encoder.encode(text);
        text = "";
        isSilent = false;
        yield* written;
      }
      if (entries.at(-1)?.event === "done") return encoder.encode(text);
      // A disconnect is noticed only by writing, hence the heartbeat.
      if (text === "" && isSilent && Date.now() - sentAt >= QUIET_MS)
        text = writer.heartbeat?.() ?? HEARTBEAT;
      if (text !== "") yield encoder.encode(text);
      if (text !== "" || !isSilent) sentAt = Date.now();
    }
  } catch (error) {
    await reader.cancel();
    return encoder.encode(text + writer.fail(error));
  }
}

/** Returns an event of the convention. @param id of the entry that it completes, for resuming */
export const eventText = (data: string, id?: string, event?: string) =>
  `${id ? `id: ${id}\n` : ""}${event ? `event: ${event}\n` : ""}data: ${data}\n\n`;
