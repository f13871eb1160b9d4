/** The JSON of a prediction, with the values that are stored in R2. */
import type { Piece } from "../../objects/prediction/rpc-types.ts";
import { getFile, valueKey } from "../../storage/files/files.ts";
import type { Services } from "../services.ts";

/** A stream if a part is stored in R2, so that the whole is never in memory. */
export function jsonBodyOf(
  services: Services,
  id: string,
  pieces: Piece[],
): string | ReadableStream {
  const [first] = pieces;
  if (pieces.length === 1 && typeof first === "string") return first;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  // A missing value breaks the response off: it must not look complete.
  copyPieces(services, id, pieces, writable).catch((error: unknown) => writable.abort(error));
  return readable;
}

async function copyPieces(
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
      if (!found) throw new Error(`the value ${piece.name} of ${id} is missing`);
      await found.body.pipeTo(writable, { preventClose: true, preventAbort: true });
    }
  }
  await writable.close();
}
