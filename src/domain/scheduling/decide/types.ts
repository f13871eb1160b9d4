/** Types of the hand-out. Times are unix ms of the pool's clock, durations ms. */

export const LEVELS = ["high", "normal", "low"] as const;
export type Priority = (typeof LEVELS)[number];

export interface Ask {
  id: string;
  account: string;
  priority: Priority;
  /** The class of hardware that the job wants, and how many GPUs one of its containers takes. */
  hardware: string;
  gpus: number;
  /** Key of the containers that the job may use. */
  key: string;
  image: string;
  max_concurrency: number;
  run_limit_ms: number;
  at: number;
  /** The job is there to start a container that the claim of its key lacks. */
  warm_up?: boolean | undefined;
}

/** A claim on capacity: containers of a key that are kept, and how many the key may have. */
export interface Claim {
  account: string;
  hardware: string;
  key: string;
  gpus: number;
  /** Containers that are started ahead of all jobs, and never stopped for others. */
  min: number;
  /** Null: any number. */
  max: number | null;
}

export interface ContainerView {
  id: string;
  key: string;
  image: string;
  /** The class that the container was started for. */
  hardware: string;
  /** GPUs that the container has, or will have as soon as the one that it replaces has stopped. */
  gpus: number;
  phase: "starting" | "ready" | "stopping";
  /** Jobs that the container runs, or that wait for it to be ready. */
  users: number;
  max_concurrency: number;
  since: number;
  /** Since when the container has no user. */
  idle_since?: number | undefined;
  runs: readonly number[];
}

/** A box's report on itself. It is whole: it replaces the report before. */
export interface BoxView {
  id: string;
  classes: readonly string[];
  slots: number;
  /** How many jobs the box may have while it has not reported on those it was handed; default: slots. */
  jobs_max?: number;
  /** The last number of a hand-out that the box had received by then; 0 before the first. */
  handed: number;
  handouts: readonly number[];
  /** Numbers of hand-outs that the box has no place for: their jobs wait again once asked for. */
  declined?: readonly number[];
  containers_max: number;
  gpus: number;
  containers: readonly ContainerView[];
  images: ReadonlySet<string>;
}

/** A wait for a warm container: a job is kept for a container that will soon take it, until then; this happens once. */
export interface WarmWait {
  job: string;
  until: number;
}

/** A reservation: a box is kept for a job that finds no room otherwise. */
export interface Reservation {
  job: string;
  hardware: string;
  box: string;
  free_at: number;
  /** When the box has room even if each run takes as long as it may. */
  free_by: number;
}

/** When the run of a job is expected to begin, as it was when the job was asked for. */
export interface Forecast {
  job: string;
  kind: ForecastKind;
  expected_ms: number;
}
/**
 * `start`: a container for the job starts. `container`: the job waits for one that is up, or that starts for
 * another. `slot`: it waits for a slot.
 */
export type ForecastKind = "start" | "container" | "slot";

/** Notes that were taken on the way to a decision, for `apply` to remember. */
export interface Notes {
  firsts: string[];
  warmWaits: WarmWait[];
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

export interface Handout {
  /** Numbers of a box's hand-outs rise, also over restarts of the pool. */
  number: number;
  box: string;
  ask: Ask;
  at: number;
  /** The container that the job joins; if the job starts it, the name until the box has reported its own. */
  container: string;
  starts: boolean;
  stop: readonly string[];
}

export interface Settings {
  /** The most of a class's capacity that an account warmWaits while others want it, one slot at least. */
  account_share: number;
  /** How long a wide job is first in turn before a box is kept for it. */
  reserve_ms: number;
  setup_limit_ms: number;
}

export const DEFAULT_SETTINGS: Settings = {
  account_share: 0.5,
  reserve_ms: 60_000,
  setup_limit_ms: 1_800_000,
};
