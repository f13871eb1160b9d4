/** One round of a measurement: a number of calls, with a number at a time. */
import { median } from "./statistics.ts";

export interface Round {
  /** Median of its requests, ms. */
  latency: number;
  /** Requests per second. */
  throughput: number;
}

export async function round(
  call: () => Promise<void>,
  concurrency: number,
  requests: number,
): Promise<Round> {
  const took: number[] = [];
  let left = requests;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) {
        const asked = performance.now();
        await call();
        took.push(performance.now() - asked);
      }
    }),
  );
  return {
    latency: median(took),
    throughput: (took.length * 1000) / (performance.now() - began),
  };
}
