/** The export of an account: one stream, made as fast as it is read. */
import type { EventStream } from "../../predictions/event-stream.ts";
import type { Services } from "../../services.ts";
import type { Caller } from "../caller.ts";
import { accountLines } from "./lines.ts";
import { type Piece, predictionLines } from "./predictions.ts";

/** @param before continues an export with the predictions made before this one */
export function exportAccount(
  services: Services,
  caller: Caller,
  origin: string,
  before: string | undefined,
): EventStream {
  return streamOf(bytesOf(linesOf(services, caller, origin, before)));
}

async function* linesOf(
  services: Services,
  caller: Caller,
  origin: string,
  before: string | undefined,
): AsyncGenerator<Piece> {
  if (before === undefined) yield* accountLines(services, caller, origin);
  yield* predictionLines(services, caller, origin, before);
}

async function* bytesOf(pieces: AsyncGenerator<Piece>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const piece of pieces) {
    if (piece instanceof ReadableStream) yield* piece;
    else yield encoder.encode(typeof piece === "string" ? piece : `${JSON.stringify(piece)}\n`);
  }
}

/** Nothing is made ahead of its reader. One that ends early lacks its last line. */
function streamOf(chunks: AsyncGenerator<Uint8Array>): EventStream {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let isEnded = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = isEnded ? { done: true, value: undefined } : await chunks.next();
        if (!done && value) return controller.enqueue(value);
        controller.close();
        resolve();
      },
      async cancel() {
        resolve();
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    over,
    async end() {
      isEnded = true;
    },
  };
}
