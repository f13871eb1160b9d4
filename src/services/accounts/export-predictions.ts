/** Reads predictions for an export: several at a time while they are small, a large one at its turn. */
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import { mapAhead } from "../../lib/streams.ts";
import { logger } from "../../log.ts";
import type { ContentPiece } from "../../objects/stubs/content.ts";
import {
  openContent,
  type PredictionStub,
  predictionWithId,
  type Snapshot,
} from "../../objects/stubs/prediction.ts";
import type { StoredValue } from "../../protocol/event.ts";
import type { ExportLine } from "../../protocol/export.ts";
import { getFile, listFiles, valueKey } from "../../storage/files/files.ts";
import { findAccount } from "../access/accounts.ts";
import { SIGNED_URL_SECONDS, signedFileUrl } from "../files/signed-urls.ts";
import { withoutData } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";

const PAGE = 50;

/** The objects that are asked at a time. */
const AHEAD = 5;

/**
 * The calls that one response makes before it ends. A request may make 10,000: one more prediction may take
 * 5,000 of them, and the rest of the account 2,000.
 */
const MAX_CALLS = 2_000;

const ALL = { statuses: [], model: undefined, models: null };

const NONE = { rows: [] };

/**
 * The characters of a prediction that are held before its turn. A larger prediction is read piece by piece.
 */
const MAX_CHARS = 100_000;
/** The most large values that are read of one prediction: each takes a call. */
const MAX_VALUES = 5_000;
/** How late the removal of data is believed to be at most. */
const DAY_MS = 86_400_000;

const UNANSWERED = "It could not be read. Try GET /v1/predictions/{prediction_id} later.";
const TOO_MANY_VALUES =
  "It has too many large values. GET /v1/predictions/{prediction_id} has them.";
const BROKEN_OFF =
  "It was deleted or restarted during the export. The previous line is incomplete.";
const NO_FILES = "Its files could not be listed. Its output names them.";

interface ReadPrediction {
  row: PredictionRow;
  /** The prediction's content; undefined: its data has been removed. */
  found: Snapshot | "larger" | "unanswered" | undefined;
}

type Pieces = Iterable<string | StoredValue> | AsyncIterable<ContentPiece>;

class PredictionReader {
  readonly #services: Services;
  readonly #origin: string;
  /** The calls made so far, to objects and R2. */
  calls = 0;
  failures = 0;

  constructor(services: Services, origin: string) {
    this.#services = services;
    this.#origin = origin;
  }

  async read(row: PredictionRow): Promise<ReadPrediction> {
    const isRemoved = row.data_removed || isPastRetention(row, Date.now());
    if (isRemoved) return { row, found: undefined };
    return { row, found: await this.#ask(row, async (stub) => stub.getUpTo(MAX_CHARS)) };
  }

  async *lines({ row, found }: ReadPrediction): AsyncGenerator<Piece> {
    if (found === "unanswered") return yield this.#failure(row, UNANSWERED);
    const isLarger = found === "larger";
    const pieces = isLarger ? await this.#ask(row, openPieces) : found?.body;
    if (pieces === "unanswered") return yield this.#failure(row, UNANSWERED);
    if (!pieces) {
      const prediction = withoutData(this.#services, row, this.#origin);
      return yield { type: "prediction", prediction };
    }
    if (Array.isArray(pieces) && referencesIn(pieces) > MAX_VALUES)
      yield this.#failure(row, TOO_MANY_VALUES);
    else if (!(yield* this.#whole(row, pieces))) return;
    if (isLarger || found?.stored) yield* this.#files(row);
  }

  async #ask<Answer>(
    { id, object_id }: PredictionRow,
    call: (stub: PredictionStub) => Promise<Answer>,
  ): Promise<Answer | "unanswered"> {
    this.calls += 1;
    try {
      const stub = predictionWithId(this.#services.env, object_id);
      if (!stub) throw new Error(`it names no object of this deployment: ${object_id}`);
      return await call(stub);
    } catch (error) {
      logger.warn("Prediction not exported", { prediction_id: id, error });
      return "unanswered";
    }
  }

  /**
   * Reads a whole prediction. The rest of the export does not depend on it.
   * @returns whether it could be read to its end
   */
  async *#whole(row: PredictionRow, pieces: Pieces): AsyncGenerator<Piece, boolean> {
    try {
      yield* this.#text(row.id, pieces);
      return true;
    } catch (error) {
      logger.warn("Prediction not exported", { prediction_id: row.id, error });
      yield "\n";
      yield this.#failure(row, BROKEN_OFF);
      return false;
    }
  }

  /**
   * Yields the prediction's JSON as it is read. A deleted value, or one beyond `MAX_VALUES`, becomes null.
   */
  async *#text(id: string, pieces: Pieces): AsyncGenerator<Piece> {
    const before = this.calls;
    let missing = 0;
    yield '{"type":"prediction","prediction":';
    for await (const piece of pieces) {
      if (typeof piece === "string" || piece instanceof Uint8Array) {
        yield piece;
        continue;
      }
      const isOneTooMany = this.calls - before === MAX_VALUES;
      if (!isOneTooMany) this.calls += 1;
      const key = valueKey(id, piece.name);
      const value = isOneTooMany ? null : await getFile(this.#services.env.FILES, key);
      if (value) yield* value.body;
      else yield "null";
      if (!value) missing += 1;
    }
    yield missing > 0 ? `,"missing":${missing}}\n` : "}\n";
  }

  async *#files(row: PredictionRow): AsyncGenerator<Piece> {
    const { env } = this.#services;
    try {
      for await (const files of listFiles(env.FILES, row.id)) {
        this.calls += 1;
        for (const { key, name, size } of files) yield await this.#file(row.id, key, name, size);
      }
    } catch (error) {
      logger.warn("Files not exported", { prediction_id: row.id, error });
      yield this.#failure(row, NO_FILES);
    }
  }

  async #file(prediction_id: string, key: string, name: string, size: number): Promise<ExportLine> {
    const expires = Date.now() + SIGNED_URL_SECONDS * 1_000;
    const url = await signedFileUrl(this.#services, this.#origin, key, expires);
    return { type: "file", prediction_id, name, size, url };
  }

  #failure(row: PredictionRow, detail: string): ExportLine {
    this.failures += 1;
    const prediction = this.#services.present.prediction(row, this.#origin);
    return { type: "failure", prediction, detail };
  }
}

async function openPieces(stub: PredictionStub) {
  const content = await openContent(stub);
  if (content === "full") throw new Error("too many large predictions of the account are read");
  return content?.pieces;
}

const referencesIn = (pieces: (string | StoredValue)[]) =>
  pieces.filter((piece) => typeof piece !== "string").length;

/** Whether the account has removed the prediction's data by now, which its row does not say. */
const isPastRetention = ({ updated_at, kept_seconds }: PredictionRow, now: number) =>
  kept_seconds !== null && updated_at + kept_seconds * 1_000 + DAY_MS < now;

/**
 * @param url of the export, without a query
 * @param before only predictions made before this id
 */
export async function* predictionLines(
  services: Services,
  userId: string,
  url: string,
  before: string | undefined,
): AsyncGenerator<Piece> {
  const reader = new PredictionReader(services, new URL(url).origin);
  let predictions = 0;
  let last = before;
  const end = (next_url: string | null): ExportLine => {
    return { type: "end", predictions, failures: reader.failures, next_url };
  };
  for (;;) {
    const account = await findAccount(services, userId);
    const from = last === undefined ? undefined : { key: [last], inclusive: false };
    const { rows } = (await account?.list(ALL, { from, back: false, limit: PAGE })) ?? NONE;
    reader.calls += 1;
    for await (const read of mapAhead(rows, AHEAD, (row) => reader.read(row))) {
      yield* reader.lines(read);
      predictions += 1;
      last = read.row.id;
      if (reader.calls < MAX_CALLS) continue;
      yield end(`${url}?before=${last}`);
      return;
    }
    if (rows.length < PAGE) return yield end(null);
  }
}

/** A line, or a part of one that may be too large for memory as a whole. */
export type Piece = ExportLine | string | Uint8Array;
