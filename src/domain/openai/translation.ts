/** The interface of the translations from a prediction's log into streams of the OpenAI convention. */
import type { Json } from "../../protocol/common.ts";

/** An event of a prediction's stream. */
export interface LogEntry {
  event: string;
  data: Json;
}

/**
 * Translates a log. It is deterministic: the same entries always give the same events, so a stream can be
 * replayed and resumed anywhere.
 */
export interface Translation {
  /** Translates an entry into the data of the convention's events, in order. */
  take(entry: LogEntry): object[];
}

/** The error for a model's output that is neither text nor a response of the convention. */
export class TranslationFailed extends Error {
  override readonly name = "TranslationFailed";
}
