// Sums numbers, and misbehaves on request, to try out logs, errors and cancellation.

import { setTimeout as sleep } from "node:timers/promises";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

/** @type {Record<string, (numbers: number[]) => number>} */
const operations = {
  sum: (numbers) => numbers.reduce((total, number) => total + number, 0),
  mean: (numbers) => operations.sum(numbers) / numbers.length,
  median(numbers) {
    const sorted = numbers.toSorted((a, b) => a - b);
    const middle = Math.floor(sorted.length / 2);
    return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  },
};

serve(manifest, {
  async predict({ numbers, operation, mode, seconds, ignore_cancel }, { signal, log }) {
    log(`${operation} of ${numbers.length} numbers`);
    if (mode === "fail") throw new Error("Told to fail");
    if (mode === "crash") {
      log("Told to crash");
      process.exit(1);
    }
    if (mode === "slow") {
      const options = ignore_cancel ? {} : { signal };
      for (let left = seconds; left > 0; left -= 1) {
        log(`${left} s to go`);
        await sleep(Math.min(left, 1) * 1000, undefined, options);
      }
    }
    const result = operations[operation](numbers);
    log(`the result is ${result}`);
    return { operation, count: numbers.length, result };
  },
});
