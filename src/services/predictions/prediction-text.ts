/** The JSON of a prediction, with the values that are stored in R2. */
import { sha256 } from "../../domain/accounts/token.ts";
import type { ContentPiece, Piece } from "../../objects/stubs/content.ts";
import { openContent, type PredictionStub, type Snapshot } from "../../objects/stubs/prediction.ts";
import { getFile, valueKey } from "../../storage/files/files.ts";
import { tooManyConnections } from "../access/concurrency-limit.ts";
import type { Services } from "../services.ts";

export interface PredictionText {
  text: string | ReadableStream;
  /** The ETag of a stream. A text has none: its ETag is computed from the text itself. */
  etag?: string;
}

/**
 * @param part of a large prediction, which is read piece by piece
 * @returns undefined when it has been deleted meanwhile
 * @throws ProblemError too_many_requests
 */
export async function predictionText(
  services: Services,
  stub: PredictionStub,
  { id, body }: Snapshot,
  part?: Parameters<typeof openContent>[1],
): Promise<PredictionText | undefined> {
  if (!body) {
    const content = await openContent(stub, part);
    if (content === "full")
      throw tooManyConnections(
        `The prediction '${id}' exists, but you are reading too many large predictions. Wait for some to finish, then use GET /v1/predictions/${id}.`,
      );
    return content && { text: jsonBodyOf(services, id, content.pieces), etag: content.etag };
  }
  const text = jsonBodyOf(services, id, body);
  if (typeof text === "string") return { text };
  return { text, etag: `W/"${await sha256(JSON.stringify(body))}"` };
}

/** Returns a stream if the JSON is in several pieces, so that the whole is never in memory. */
export function jsonBodyOf(
  services: Services,
  id: string,
  pieces: Piece[] | AsyncIterable<ContentPiece>,
): string | ReadableStream {
  const [first] = Array.isArray(pieces) ? pieces : [];
  if (Array.isArray(pieces) && pieces.length === 1 && typeof first === "string") return first;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  // A missing value breaks the response off, so that it does not look complete.
  copyPieces(services, id, pieces, writable).catch((error: unknown) => writable.abort(error));
  return readable;
}

async function copyPieces(
  { env }: Services,
  id: string,
  pieces: Piece[] | AsyncIterable<ContentPiece>,
  writable: WritableStream<Uint8Array>,
): Promise<void> {
  const encoder = new TextEncoder();
  for await (const piece of pieces) {
    if (typeof piece === "string" || piece instanceof Uint8Array) {
      const bytes = typeof piece === "string" ? encoder.encode(piece) : piece;
      const writer = writable.getWriter();
      await writer.write(bytes).finally(() => writer.releaseLock());
    } else {
      const found = await getFile(env.FILES, valueKey(id, piece.name));
      if (!found) throw new Error(`the value ${piece.name} of ${id} is missing`);
      await found.body.pipeTo(writable, { preventClose: true, preventAbort: true });
    }
  }
  await writable.close();
}
