/** The predictions of an account, as lines of its export, newest first. */
import { mapAhead } from "../../../lib/streams.ts";
import type { ExportLine } from "../../../protocol/export.ts";
import type { Services } from "../../services.ts";
import { findAccount } from "../account-object.ts";
import { PredictionReader } from "./prediction-reader.ts";
import type { Piece } from "./stream.ts";

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
