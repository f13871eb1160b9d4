/**
 * What the hand-out works with: the jobs that wait, what each box told of itself, and what is decided.
 * Times are unix ms of the pool's clock, durations ms.
 */

export const LEVELS = ["high", "normal", "low"] as const;
export type Priority = (typeof LEVELS)[number];

/** A job that waits. */
export interface Ask {
  id: string;
  account: string;
  priority: Priority;
  /** The class of hardware that it wants, and how many GPUs one of its containers takes. */
  hardware: string;
  gpus: number;
  /** Of the containers that it may use. */
  key: string;
  image: string;
  /** How many runs one of its containers takes at a time. */
  room: number;
  /** How long its run may take at most. */
  run_limit_ms: number;
  /** Since when it waits. */
  at: number;
}

export interface ContainerView {
  id: string;
  key: string;
  image: string;
  /** The class that it was started for. */
  hardware: string;
  /** Those that it has, or will have as soon as what it replaces has stopped. */
  gpus: number;
  phase: "starting" | "ready" | "stopping";
  /** Jobs that it runs, or that wait for it to be ready. */
  users: number;
  room: number;
  /** When the phase began. */
  since: number;
  /** Since when it has no user. */
  idle_since?: number | undefined;
  /** When each of its runs began. */
  runs: readonly number[];
}

/** What a box told of itself. It is whole: it replaces what was told before. */
export interface BoxView {
  id: string;
  /** The classes of hardware that it serves. */
  classes: readonly string[];
  /** How many jobs it may have at a time. */
  slots: number;
  /** The same while it has not reported on jobs that it was handed; by default as many as slots. */
  jobs_max?: number;
  /** The last number of a hand-out that it had received by then; 0 before the first. */
  handed: number;
  /** Of the jobs that it has: the numbers of their hand-outs. */
  handouts: readonly number[];
  /** The numbers of those that it has no place for: they wait again once they are asked for again. */
  declined?: readonly number[];
  containers_max: number;
  /** Devices that can be used. */
  gpus: number;
  containers: readonly ContainerView[];
  images: ReadonlySet<string>;
}

/** A job is kept for a container that will soon take it, until then; this happens once. */
export interface Hold {
  job: string;
  until: number;
}

/** A box is kept for a job that finds no room otherwise. */
export interface Reservation {
  job: string;
  hardware: string;
  box: string;
  /** When it is expected to have room for the job. */
  free_at: number;
  /** When it has room even if each run takes as long as it may. */
  free_by: number;
}

/** What was noticed on the way to a decision, for `apply` to remember. */
/** When the run of a job is expected to begin, as it was when it had been asked for. */
export interface Forecast {
  job: string;
  kind: ForecastKind;
  expected_ms: number;
}
/** A container for it starts; it waits for one that is up, or that starts for another; for a place. */
export type ForecastKind = "start" | "container" | "place";

export interface Notes {
  /** Jobs that have become first in turn. */
  firsts: string[];
  holds: Hold[];
  reservations: Reservation[];
}

export type Decision = (
  | { do: "join"; job: string; box: string; container: string }
  | {
      do: "start";
      job: string;
      box: string;
      /** Idle containers of the box that are stopped first, to make room. */
      stop: string[];
    }
  | {
      do: "nothing";
      /** When to look again, if nothing changes until then; null: only after a change. */
      until: number | null;
    }
) & { notes: Notes };

/** A job on its way to a box. */
export interface Handout {
  /** Numbers of a box rise, also over restarts of the pool. */
  number: number;
  box: string;
  ask: Ask;
  at: number;
  /** The container that it joins; of one that it starts, the name until the box has told its own. */
  container: string;
  starts: boolean;
  stop: readonly string[];
}

export interface Settings {
  /** Of a class's capacity an account holds so much at most while others want it, one slot at least. */
  account_share: number;
  /** How long a wide job is first in turn before a box is kept for it. */
  reserve_ms: number;
  /** How long the setup of a job may take. */
  setup_limit_ms: number;
}

export const DEFAULT_SETTINGS: Settings = {
  account_share: 0.5,
  reserve_ms: 60_000,
  setup_limit_ms: 1_800_000,
};
