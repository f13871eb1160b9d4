/** The faults of a seed with their times: the same seed gives the same faults. */
import fc from "fast-check";
import { between, samples, share } from "./seeded.ts";

export type Target =
  | { what: "control plane" }
  | { what: "runner"; runner: number }
  /** The cable before a runner, the callers, or the receiver of webhooks. */
  | { what: "cable"; before: number | "callers" | "receiver" }
  /** The process of a model, or its container. */
  | { what: "model"; runner: number };

interface Harm {
  how: "kill" | "power cut" | "pause" | "drain" | "cut" | "reset" | "delay" | "swallow" | "refuse";
  /** The duration, until the target runs again or the cable is healed. 0 for a harm of a moment. */
  ms: number;
  /** The position of the model among all models, or the length of a delay: 0 to 1. */
  share: number;
}

export interface Fault extends Harm {
  /** Time since the storm began, ms. */
  at: number;
  target: Target;
}

/** The harms of a target, and the time from one harm's end to the next, ms. */
interface Climate {
  target: Target;
  harms: fc.Arbitrary<Harm>;
  calm: [min: number, max: number];
}

/** The most faults of a target in a minute: the shortest harm and calm together take longer than a second. */
const MOST_PER_MINUTE = 60;

const harm = (how: Harm["how"], ms: [number, number] | 0 = 0): fc.Arbitrary<Harm> =>
  fc.record({
    how: fc.constant(how),
    ms: ms === 0 ? fc.constant(0) : between(...ms),
    share,
  });

const anyOf = (...harms: fc.Arbitrary<Harm>[]) => fc.oneof(...harms);

/** The runners die with the control plane in a power cut. */
const CONTROL_PLANE = anyOf(
  harm("kill"),
  harm("kill"),
  harm("power cut", [100, 3_000]),
  harm("pause", [500, 6_000]),
);
/** A pause of a runner may be longer than the lease. */
const RUNNER = anyOf(
  harm("kill", [100, 6_000]),
  harm("pause", [500, 12_000]),
  harm("drain", [100, 4_000]),
);
const CABLE = anyOf(
  harm("cut"),
  harm("reset"),
  harm("delay", [1_000, 8_000]),
  harm("swallow", [500, 10_000]),
  harm("refuse", [500, 5_000]),
);

const climateOf = (runners: number): Climate[] => [
  { target: { what: "control plane" }, harms: CONTROL_PLANE, calm: [5_000, 18_000] },
  { target: { what: "cable", before: "receiver" }, harms: CABLE, calm: [8_000, 30_000] },
  { target: { what: "cable", before: "callers" }, harms: CABLE, calm: [2_000, 12_000] },
  ...Array.from({ length: runners }, (_, runner): Climate[] => [
    { target: { what: "runner", runner }, harms: RUNNER, calm: [4_000, 30_000] },
    { target: { what: "cable", before: runner }, harms: CABLE, calm: [3_000, 20_000] },
    { target: { what: "model", runner }, harms: harm("kill"), calm: [2_000, 15_000] },
  ]).flat(),
];

/**
 * Returns faults in their order. Each is over by the end, and a target has one at a time.
 * @param duration ms
 * @param strength 2: with half the calm in between
 */
export function faultsOf(
  seed: number,
  { runners, duration, strength }: { runners: number; duration: number; strength: number },
): Fault[] {
  return climateOf(runners)
    .flatMap(({ target, harms, calm }, n) => {
      const count = Math.ceil((duration / 60_000) * MOST_PER_MINUTE * strength);
      const weather = fc.record({ harm: harms, calm: between(...calm) });
      let at = 0;
      return samples(weather, seed + n, count).map(({ harm, calm }): Fault => {
        at += Math.round(calm / strength);
        const fault = { ...harm, at, target };
        at += harm.ms;
        return fault;
      });
    })
    .filter(({ at, ms }) => at + ms <= duration)
    .sort((a, b) => a.at - b.at);
}

export function nameOf(target: Target): string {
  if (target.what === "control plane") return target.what;
  if (target.what === "cable") return `cable of ${target.before}`;
  return `${target.what} ${target.runner}`;
}
