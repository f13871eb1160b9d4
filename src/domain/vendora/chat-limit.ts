/** How long an answer may be: why a model has stopped that does not say it itself. */
import type { Metrics } from "../../protocol/event.ts";
import { countOf } from "./response-json.ts";

/** Tokens that each answer to a request may have, by whichever name; undefined when it does not say. */
export const limitOf = (request: Record<string, unknown>): number | undefined =>
  countOf(request.max_output_tokens ?? request.max_completion_tokens ?? request.max_tokens) ||
  undefined;

/**
 * Whether the answers are as long as they may be. The metrics count all of them together, and an
 * estimate proves nothing.
 */
export const isAtLimit = (
  limit: number | undefined,
  metrics: Metrics | null | undefined,
  answers = 1,
): boolean =>
  limit !== undefined &&
  !metrics?.tokens_estimated &&
  (metrics?.output_tokens ?? 0) >= limit * answers;
