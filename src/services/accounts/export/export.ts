/** The export of an account: one stream, made as fast as it is read. */
import type { EventStream } from "../../predictions/event-stream.ts";
import type { Services } from "../../services.ts";
import type { Caller } from "../caller.ts";
import { accountLines } from "./lines.ts";
import { predictionLines } from "./predictions.ts";
import { exportStream, type Piece } from "./stream.ts";

export interface ExportRequest {
  /** The export's URL without a query, which the line that says where to continue is made from. */
  url: string;
  /** Continues an export with the predictions made before this one. */
  before: string | undefined;
}

export const exportAccount = (
  services: Services,
  caller: Caller,
  request: ExportRequest,
): EventStream => exportStream(linesOf(services, caller, request));

async function* linesOf(
  services: Services,
  caller: Caller,
  request: ExportRequest,
): AsyncGenerator<Piece> {
  if (request.before === undefined)
    yield* accountLines(services, caller, new URL(request.url).origin);
  yield* predictionLines(services, caller.user_id, request.url, request.before);
}
