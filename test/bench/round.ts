/** Rounds of calls, with a number at a time, and of sides that are measured in turn. */
import { readFileSync } from "node:fs";
import { median } from "./statistics.ts";

interface Round {
  /** Median of its requests, ms. */
  latency: number;
  /** Requests per second. */
  throughput: number;
  /** Processor time of this process and all that it has started, for each request, ms; NaN if it is unknown. */
  processor: number;
}

export async function round(
  call: () => Promise<void>,
  concurrency: number,
  requests: number,
): Promise<Round> {
  const took: number[] = [];
  let left = requests;
  const used = processorMs(process.pid);
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
    processor: (processorMs(process.pid) - used) / took.length,
  };
}

/** Returns the processor time of a process and its descendants, ms; NaN where there is no /proc. */
function processorMs(pid: number | string): number {
  const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, "utf8");
  try {
    const [, stat = ""] = read("stat").split(") ");
    const [user, system] = stat.split(" ").slice(11, 13);
    const children = read(`task/${pid}/children`).split(" ").filter(Boolean);
    // The kernel counts in hundredths of a second.
    return (
      10 * (Number(user) + Number(system)) + children.map(processorMs).reduce((a, b) => a + b, 0)
    );
  } catch {
    return Number.NaN;
  }
}

/**
 * Measures sides in rounds A B A B …, so that other work of the machine affects all.
 * @returns the results of each side
 */
export async function inTurn<Result>(
  rounds: number,
  ...sides: (() => Promise<Result>)[]
): Promise<Result[][]> {
  const found = sides.map((): Result[] => []);
  for (let n = 0; n < rounds; n++)
    for (const [k, measure] of sides.entries()) found[k]?.push(await measure());
  return found;
}

/** Returns the median of a number that the results have. */
export const typical = <Name extends string>(
  results: readonly Record<Name, number>[] | undefined,
  name: Name,
): number => median((results ?? []).map((one) => one[name]));
