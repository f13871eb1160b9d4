/** The token limit of a request: if a model that gives no reason stopped there, the limit is the reason. */
import type { Metrics } from "../../protocol/event.ts";
import { countOf } from "./response-json.ts";

/** Returns the most tokens that each choice may have; undefined when the request has no limit. */
export const limitOf = (request: Record<string, unknown>): number | undefined =>
  countOf(request.max_output_tokens ?? request.max_completion_tokens ?? request.max_tokens) ||
  undefined;

/**
 * Whether the choices have reached the limit. Metrics count all choices together, and estimated
 * ones do not count.
 */
export const isAtLimit = (
  limit: number | undefined,
  metrics: Metrics | null | undefined,
  answers = 1,
): boolean =>
  limit !== undefined &&
  !metrics?.tokens_estimated &&
  (metrics?.output_tokens ?? 0) >= limit * answers;
