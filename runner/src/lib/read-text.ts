/** Reads a short message as text. */
import type { IncomingMessage } from "node:http";

/**
 * With events: an async iterator costs more than all else about a short message.
 * @returns undefined if it is larger than `maxBytes`, and then the connection is closed
 */
export function readText(message: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const chunks: Buffer[] = [];
  let size = 0;
  message
    .on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      resolve(undefined);
      message.destroy();
    })
    .on("end", () => resolve(Buffer.concat(chunks).toString()))
    .on("error", reject)
    // The error is made only if the message is incomplete, since it captures a stack trace.
    .on("close", () => message.readableEnded || reject(new Error("the connection was closed")));
  return promise;
}
