/** The metrics of the deployment. */
import type { Point, Span } from "../domain/metrics/history.ts";
import type { Bindings } from "../env.ts";
import { Counts, metricsObject } from "../objects/stubs/metrics.ts";
import type { Services } from "./services.ts";

const countsOf = new WeakMap<Bindings, Counts>();

/** @param waitUntil keeps the isolate until the counts are sent */
export function countRequest(
  { env }: Services,
  route: string,
  status: number,
  waitUntil: (sending: Promise<void>) => void,
): void {
  const counts = countsOf.get(env) ?? new Counts(env);
  countsOf.set(env, counts);
  counts.add("requests", { route }, String(status), 1, waitUntil);
}

/** @param model `owner/name`; null: all of the deployment */
export const readHistory = (
  { env }: Services,
  model: string | null,
  span: Span,
): Promise<Point[]> => metricsObject(env).history(model, span);

/** Returns the text of OpenMetrics, whose gauges are at most 10 s old. */
export const readMetrics = ({ env }: Services): Promise<string> => metricsObject(env).exposition();
