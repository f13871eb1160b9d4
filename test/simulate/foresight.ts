/**
 * Perfect eviction (Belady): an idle container is worth more the sooner its key is asked for again. The
 * second idle container of a key waits for the second ask.
 */
import type { Container } from "../../src/domain/scheduling/decide/box.ts";
import type { MakeEvictionRule } from "../../src/domain/scheduling/decide/eviction-score.ts";
import type { SimulatedJob } from "./trace.ts";

export function foresight(trace: readonly SimulatedJob[]): MakeEvictionRule {
  const asks = new Map<string, number[]>();
  for (const { ask } of trace) {
    const times = asks.get(ask.key);
    if (times) times.push(ask.at);
    else asks.set(ask.key, [ask.at]);
  }
  /** The number of past asks of each key. */
  const passed = new Map<string, number>();
  const nextAsk = (key: string, now: number, after: number): number => {
    const times = asks.get(key) ?? [];
    let at = passed.get(key) ?? 0;
    while ((times[at] ?? Number.POSITIVE_INFINITY) <= now) at += 1;
    passed.set(key, at);
    return times[at + after] ?? Number.POSITIVE_INFINITY;
  };
  return ({ fleet }) => ({
    of(container: Container, now: number): number {
      const idle = [...fleet.containersOf(container.queueKey)].filter(({ users }) => users === 0);
      return -nextAsk(container.key, now, idle.indexOf(container));
    },
    use() {},
    stop() {},
  });
}
