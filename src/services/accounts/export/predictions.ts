/** The predictions of an account, as lines of its export, newest first. */
import type { PredictionRow } from "../../../domain/predictions/prediction-row.ts";
import { logger } from "../../../log.ts";
import type { ExportLine } from "../../../protocol/export.ts";
import { listFiles } from "../../../storage/files/files.ts";
import { SIGNED_URL_SECONDS, signedFileUrl } from "../../files/signed-urls.ts";
import { getPrediction, rememberLocation } from "../../predictions/predictions.ts";
import type { Services } from "../../services.ts";
import { findAccount } from "../account-object.ts";
import type { Caller } from "../caller.ts";
import { rowsOf } from "./lines.ts";

/** Of one response: each is up to four calls, of which a request may make 10,000. */
const MAX_PREDICTIONS = 1_000;

/** A line, or the texts that make it up where a value may be too large for memory. */
export type Piece = ExportLine | string | ReadableStream<Uint8Array>;

/** @param before only what was made before this id */
export async function* predictionLines(
  services: Services,
  caller: Caller,
  origin: string,
  before: string | undefined,
): AsyncGenerator<Piece> {
  const account = await findAccount(services, caller.user_id);
  const all = { statuses: [], model: undefined, models: null };
  const start = before === undefined ? undefined : { key: [before], inclusive: false };
  let count = 0;
  let last = "";
  const rows = rowsOf<PredictionRow>(
    async (keyset) =>
      (await account?.list(all, { ...keyset, from: keyset.from ?? start }))?.rows ?? [],
    ({ id }) => [id],
  );
  for await (const row of rows) {
    if (count === MAX_PREDICTIONS) {
      yield { type: "end", next_url: `${origin}/v1/user/export?before=${last}` };
      return;
    }
    yield* onePrediction(services, caller, origin, row);
    count += 1;
    last = row.id;
  }
  yield { type: "end", next_url: null };
}

async function* onePrediction(
  services: Services,
  caller: Caller,
  origin: string,
  row: PredictionRow,
): AsyncGenerator<Piece> {
  const { id: prediction_id } = row;
  rememberLocation({ ...row, user_id: caller.user_id });
  try {
    const { text } = await getPrediction(services, caller, prediction_id, origin);
    yield '{"type":"prediction","prediction":';
    yield text;
    yield "}\n";
    // Only what was written by a runner has files, and only while its data is there.
    if (typeof text !== "string" || text.includes(`/files/${prediction_id}/`))
      yield* files(services, prediction_id, origin);
  } catch (error) {
    logger.warn("Prediction not exported", { prediction_id, error });
    const detail = "It could not be read. GET /v1/predictions/{id} may have it later.";
    yield { type: "failure", prediction_id, detail };
  }
}

async function* files(services: Services, id: string, origin: string): AsyncGenerator<ExportLine> {
  const expires = Date.now() + SIGNED_URL_SECONDS * 1_000;
  for (const { key, name, size } of await listFiles(services.env.FILES, id)) {
    const url = await signedFileUrl(services, origin, key, expires);
    yield { type: "file", prediction_id: id, name, size, url };
  }
}
