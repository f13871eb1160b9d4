/** The interface of the translations from a prediction's log into streams of the OpenAI convention. */
import { z } from "zod";
import { countOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { type Metrics, metrics } from "../../protocol/event.ts";
import { type Cost, cost } from "../../protocol/money.ts";
import { taskStatus } from "../../protocol/prediction.ts";

export interface LogEntry {
  event: string;
  data: Json;
}

/** The fields of a log's `done` that answers of choices and messages need. */
export const ended = z.object({
  status: taskStatus,
  metrics: metrics.nullish(),
  cost: cost.nullish(),
});

/** Fields of a usage that a container may report, and that only the service says. */
export const NO_COST = { cost: undefined, cost_details: undefined };

/** Returns the cost for a usage: a number, as clients of OpenRouter read it. */
export const costIn = (cost: Pick<Cost, "amount"> | null | undefined): { cost?: number } =>
  cost ? { cost: Number(cost.amount) } : {};

/** Translates a log: the same entries always give the same events, so a stream can be resumed. */
export interface Translation {
  /** Translates an entry into the data of the convention's events, in order. */
  take(entry: LogEntry): object[];
}

/** Assembles a stream into the whole answer that the container would have sent without streaming. */
export interface Assembler {
  /** Adds the next event. @throws TranslationFailed for an event of another convention */
  take(event: Json): void;
  /** The answer so far; undefined before the first event. */
  readonly value: object | undefined;
}

/** The error for a model's output that is neither text nor a response of the convention. */
export class TranslationFailed extends Error {
  override readonly name = "TranslationFailed";
}

/**
 * Yields the values. A list counts as its items, at any depth: it makes no difference whether a model sent
 * them at once or one by one. Null is skipped. Not recursive, because the depth is not limited.
 */
export function* valuesIn(output: Json): Generator<Json> {
  for (const waiting = [output]; waiting.length > 0; ) {
    const one = waiting.pop() ?? null;
    if (Array.isArray(one)) for (const part of one.toReversed()) waiting.push(part);
    else if (one !== null) yield one;
  }
}

/** Returns the most tokens that each choice may have; undefined when the request has no limit. */
export const limitOf = (request: Record<string, unknown>): number | undefined =>
  countOf(request.max_output_tokens ?? request.max_completion_tokens ?? request.max_tokens) ||
  undefined;

/** Whether the choices have reached the limit. Metrics count all together; estimates do not count. */
export const isAtLimit = (
  limit: number | undefined,
  metrics: Metrics | null | undefined,
  answers = 1,
): boolean =>
  limit !== undefined &&
  !metrics?.tokens_estimated &&
  (metrics?.output_tokens ?? 0) >= limit * answers;
