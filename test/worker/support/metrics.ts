/** The metrics of the deployment, as a collector reads them. */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { Client } from "./client.ts";

export const metricsObject = () => env.METRICS.getByName("metrics");

/** Returns the value of each series by its text, such as `auspex_runners{pool="gpu"}`. */
export function seriesOf(text: string): Map<string, number> {
  expect(text.endsWith("\n# EOF\n")).toBe(true);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const series = lines.map((line): [string, number] => {
    const [, name = "", value = ""] = /^(\S+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    return [name, Number(value)];
  });
  expect(new Set(series.map(([name]) => name)).size).toBe(series.length);
  return new Map(series);
}

/** Returns the series whose text has all of the parts. */
export function among(series: Map<string, number>, ...parts: string[]): Record<string, number> {
  return Object.fromEntries(
    [...series].filter(([name]) => parts.every((part) => name.includes(part))),
  );
}

/** Reads the metrics as of now: an object that restarts has no text of the last 10 s. */
export async function readMetrics(client: Client): Promise<Map<string, number>> {
  // The object does not run before the first look of a test.
  await evictDurableObject(metricsObject()).catch(() => undefined);
  const response = await client.fetch("/metrics");
  expect(response.status).toBe(200);
  return seriesOf(new TextDecoder().decode(await response.arrayBuffer()));
}
