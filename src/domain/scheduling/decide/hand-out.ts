/** Hands out all that can be handed out now, and learns how good forecasts are. */
import { ClassLook } from "./class-look.ts";
import { decide } from "./decide.ts";
import { foresee } from "./foresee.ts";
import type { PoolState } from "./pool-state.ts";
import type { Decision, Handout } from "./types.ts";

/** The shortest time between two forecasts: each takes milliseconds among thousands of containers. */
const LEARN_EVERY_MS = 1_000;

export interface HandedOut {
  handouts: Handout[];
  /** When to look again, if nothing changes until then; null: only after a change. */
  until: number | null;
}

/** @param rule makes decisions; the simulation tries other rules */
export function handOut(
  state: PoolState,
  now: number,
  rule: (state: PoolState, now: number) => Decision = decide,
): HandedOut {
  const handouts: Handout[] = [];
  for (;;) {
    const decision = rule(state, now);
    const handout = state.apply(decision, now);
    if (handout) handouts.push(handout);
    if (decision.do !== "nothing") continue;
    learn(state, now);
    return { handouts, until: decision.until };
  }
}

/** Makes a forecast for the job that came last, if it has to wait. */
function learn(state: PoolState, now: number): void {
  const job = state.line.get(state.newest ?? "");
  const line = job && state.line.classes.get(job.ask.hardware);
  if (!line || now < state.forecasts.lastAt + LEARN_EVERY_MS) return;
  const look = new ClassLook(state, job.ask.hardware, line, now);
  state.forecasts.add(foresee(state, look, job, now), now);
  state.newest = undefined;
}
