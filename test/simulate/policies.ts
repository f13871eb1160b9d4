/** The rules that are compared. */
import type { Box, Container } from "../../src/domain/scheduling/decide/box.ts";
import { decide, handOut } from "../../src/domain/scheduling/decide/decide.ts";
import type { MakeEvictionRule } from "../../src/domain/scheduling/decide/eviction-score.ts";
import { PoolState } from "../../src/domain/scheduling/decide/pool-state.ts";
import type { Ask, Decision } from "../../src/domain/scheduling/decide/types.ts";
import type { Rules } from "./simulate.ts";
import type { SimulatedJob } from "./trace.ts";

type Decide = (state: PoolState, now: number) => Decision;
export const POLICY_NAMES = ["auspex", "perfect", "warm-first", "fifo"] as const;
export type PolicyName = (typeof POLICY_NAMES)[number];

export const POLICIES: Record<PolicyName, (trace: readonly SimulatedJob[]) => Rules> = {
  auspex: () => rulesOf(decide),
  /** The rules of Auspex with an eviction that stops the container that is asked for again last. */
  perfect: (trace) => rulesOf(decide, new PoolState({}, foresight(trace))),
  /** A job with a ready container goes first; otherwise first in first out. */
  "warm-first": () => rulesOf(decideWarmFirst),
  /** First in first out; eviction stops the least recently used container. */
  fifo: () => rulesOf(decideFifo),
};

const rulesOf = (decide: Decide, state = new PoolState()): Rules => ({
  state,
  handOut: (now) => handOut(state, now, decide),
});

const nothing: Decision = {
  do: "nothing",
  until: null,
  notes: { firsts: [], warmWaits: [], reservations: [] },
};

/** Yields the asks in the order of their arrival. */
function* waiting(state: PoolState): Generator<Ask> {
  yield* state.line.asks();
}

function decideFifo(state: PoolState): Decision {
  const [first] = waiting(state);
  return first ? (join(state, first) ?? start(state, first) ?? nothing) : nothing;
}

function decideWarmFirst(state: PoolState): Decision {
  const [first] = waiting(state);
  if (!first) return nothing;
  for (const ask of waiting(state)) {
    const joined = join(state, ask);
    if (joined) return joined;
  }
  return start(state, first) ?? nothing;
}

function join(state: PoolState, ask: Ask): Decision | undefined {
  const found = state.fleet.joinable(`${ask.hardware} ${ask.key}`, () => true);
  if (!found) return undefined;
  const { id, box } = found;
  return { do: "join", job: ask.id, box: box.id, container: id, notes: nothing.notes };
}

function start(state: PoolState, ask: Ask): Decision | undefined {
  const on = (box: Box, stop: Container[]): Decision => {
    const ids = stop.map(({ id }) => id);
    return { do: "start", job: ask.id, box: box.id, stop: ids, notes: nothing.notes };
  };
  const boxes = [...state.fleet.boxes.values()];
  const room = boxes.find((box) => box.fits(ask.gpus));
  if (room) return on(room, []);
  const [oldest] = boxes
    .flatMap((box) => [...box.idle()])
    .toSorted((a, b) => (a.idle_since ?? 0) - (b.idle_since ?? 0));
  return oldest && on(oldest.box, [oldest]);
}

function foresight(trace: readonly SimulatedJob[]): MakeEvictionRule {
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
