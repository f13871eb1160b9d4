/** A no-op prediction, from the call to its answer, next to the floor: in turn on the same machine. */
import { type Bed, noop } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { startFloor } from "./floor.ts";
import { inTurn, round, typical } from "./round.ts";
import { ms, perSecond, type Table, times, type Verdict } from "./table.ts";

/** Requests of a round by concurrency: about half a second each. */
const REQUESTS = { 1: 40, 8: 120, 32: 192 };
const MOST_TIME_AT_1 = 1.3;
const LEAST_RATE_AT_32 = 0.8;
/** The limit at each concurrency: 1.3 to 2.0 on two cores that 25 others use. It holds on a busy machine, too. */
const MOST_PROCESSOR = 2.4;

export async function measureLatency({ client }: Bed, effort: Effort): Promise<Table> {
  const floor = await startFloor();
  try {
    const rows: string[][] = [];
    const verdicts: Verdict[] = [];
    const calls = [() => noop(client), floor.run] as const;
    // The first requests are slower than all that follow, because V8 compiles the code meanwhile.
    for (const call of calls) await round(call, 32, 4 * REQUESTS[32] * effort.requests);
    for (const at of [1, 8, 32] as const) {
      const requests = REQUESTS[at] * effort.requests;
      const sides = calls.map((call) => () => round(call, at, requests));
      const [ours, bare] = await inTurn(effort.rounds, ...sides);
      const both = (name: "latency" | "throughput" | "processor") => {
        const [value, least] = [typical(ours, name), typical(bare, name)];
        return { value, least, ratio: value / least };
      };
      const [time, rate, used] = [both("latency"), both("throughput"), both("processor")];
      rows.push([
        String(at),
        ...[ms(time.value), ms(time.least), times(time.ratio)],
        ...[perSecond(rate.value), perSecond(rate.least), times(rate.ratio)],
        ...[ms(used.value), ms(used.least), times(used.ratio)],
      ]);
      verdicts.push({
        what: `processor time at ${at}`,
        value: used.ratio,
        bound: { most: MOST_PROCESSOR },
        hard: effort.timed && !Number.isNaN(used.ratio),
      });
      if (at === 1)
        verdicts.push({ what: "time at 1", value: time.ratio, bound: { most: MOST_TIME_AT_1 } });
      if (at === 32)
        verdicts.push({
          what: "rate at 32",
          value: rate.ratio,
          bound: { least: LEAST_RATE_AT_32 },
        });
    }
    const three = ["Auspex", "floor", "ratio"];
    return {
      title: "A no-op prediction, end to end (Prefer: wait, warm container, process engine)",
      head: ["at a time", ...three, ...three, ...three],
      rows,
      notes: [
        "floor: the same hops without Auspex (worker/floor.ts)",
        "the last three: processor time of all processes, for each prediction",
      ],
      verdicts,
    };
  } finally {
    await floor.stop();
  }
}
