/** The metrics of the deployment. */
import type { GpuPoint } from "../domain/metrics/gpus.ts";
import type { Point, Span } from "../domain/metrics/history.ts";
import type { Bindings } from "../env.ts";
import { linesOf } from "../lib/openmetrics.ts";
import { Counts, metricsObject } from "../objects/stubs/metrics.ts";
import { readManifest } from "./assets.ts";
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

export const readGpuHistory = (
  { env }: Services,
  span: Span,
): Promise<{ pool: string; points: GpuPoint[] }[]> => metricsObject(env).gpuHistory(span);

/** Returns the text of OpenMetrics, whose gauges are at most 10 s old. */
export async function readMetrics({ env }: Services): Promise<string> {
  const [text, { runner }] = await Promise.all([
    metricsObject(env).exposition(),
    readManifest(env),
  ]);
  // The version of the runner that is served is that of the deployment, and a hash.
  const [version = ""] = runner.version.split("+");
  const help = "Version of the deployment, and of the runner that it serves.";
  const labels = { version, runner_version: runner.version };
  const build = { name: "auspex_build", help, samples: [{ labels, value: 1 }] };
  return [...linesOf([{ ...build, type: "info" }]), text].join("\n");
}
