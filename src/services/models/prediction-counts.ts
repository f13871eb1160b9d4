/** `predictions_count` of models: accounts report theirs, and lists sorted by it follow once a minute. */
import type { CountMessage } from "../../protocol/queue.ts";
import { runBatch } from "../../storage/database.ts";
import { writeCounts } from "../../storage/models/counts.ts";
import { syncListings } from "../../storage/models/models.ts";
import type { Services } from "../services.ts";

export const countPredictions = ({ db }: Services, counts: CountMessage[]) =>
  writeCounts(db, counts, Date.now());

export const sweepListings = ({ db }: Services) => runBatch(db, syncListings(db));
