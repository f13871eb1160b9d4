/** What turns a prediction's log into what the vendora convention streams has in common. */
import type { Json } from "../../protocol/common.ts";

/** An event of a log, as its readers are sent it. */
export interface LogEntry {
  event: string;
  data: Json;
}

/**
 * Given the same entries it always says the same, whenever they come: so a stream may be replayed,
 * and taken up anywhere.
 */
export interface Translation {
  /** What an entry becomes: the data of the convention's events, in order. */
  take(entry: LogEntry): object[];
}

/** What a model has put out is neither text nor an answer of the convention. */
export class Untranslatable extends Error {
  override readonly name = "Untranslatable";
}
