/** A prediction as its reader sees it: plain JSON, wherever its values lie. */
import type { Piece } from "../../objects/prediction/rpc-types.ts";
import { getFile, valueKey } from "../../storage/files/files.ts";
import type { Services } from "../services.ts";

/** As it is, or, when a part of it lies in R2, as a stream: the whole is never in memory. */
export function textOf(services: Services, id: string, pieces: Piece[]): string | ReadableStream {
  const [first] = pieces;
  if (pieces.length === 1 && typeof first === "string") return first;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  // What is missing breaks the answer off: it must not look like a whole one.
  copy(services, id, pieces, writable).catch((error: unknown) => writable.abort(error));
  return readable;
}

async function copy(
  { env }: Services,
  id: string,
  pieces: Piece[],
  writable: WritableStream<Uint8Array>,
): Promise<void> {
  const encoder = new TextEncoder();
  for (const piece of pieces) {
    if (typeof piece === "string") {
      const writer = writable.getWriter();
      await writer.write(encoder.encode(piece)).finally(() => writer.releaseLock());
    } else {
      const found = await getFile(env.FILES, valueKey(id, piece.name));
      if (!found) throw new Error(`the value ${piece.name} of ${id} is not there`);
      await found.body.pipeTo(writable, { preventClose: true, preventAbort: true });
    }
  }
  await writable.close();
}
