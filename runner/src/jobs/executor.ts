/**
 * The seam of the runner. Above it: the control plane, jobs, channels, reports. Below it:
 * containers, engines, interfaces.
 */
import type { Finish } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Metrics, SetupProgress, StoredValue } from "../../../src/protocol/event.ts";
import type { Job } from "../../../src/protocol/runner.ts";

/** Where a run puts what it has to say, in order. None of these waits or throws. */
export interface RunReporter {
  setup(progress: SetupProgress): void;
  output(value: Json): void;
  /**
   * Takes room for an output of so many bytes of JSON, before it is stored elsewhere; false when
   * there is none.
   */
  reserve(bytes: number): boolean;
  /** An output as its JSON, for which there was room. */
  outputJson(json: string): void;
  /** An output for which there was room, and that is stored. */
  storedOutput(value: StoredValue): void;
  logs(text: string): void;
  metrics(metrics: Metrics): void;
}

export interface RunnableJob extends Omit<Job, "input"> {
  input: Record<string, Json>;
}

/**
 * What its container knows a run by. The attempt before may still be there, when its runner was
 * silent for a while and was then given the job again.
 */
export const runIdOf = ({ prediction_id, attempt }: RunnableJob): string =>
  attempt === 1 ? prediction_id : `${prediction_id}-${attempt}`;

export interface RunSignals {
  /** Stop the model; when it has not stopped 30 s later, its container is killed. */
  cancel: AbortSignal;
  /** Stop now: nobody waits for the result (fenced, lease lost, limits broken). */
  abandon: AbortSignal;
}

export interface WarmContainer {
  /** `keys.container` of the jobs that it is for. */
  key: string;
  /** `owner/name:version`, as the job had it that it was started for. */
  model: string;
}

export interface Executor {
  /** Removes what an earlier life of this runner left behind (containers, processes). */
  open(): Promise<void>;
  /** The containers that are up and have room for one more. */
  warm(): WarmContainer[];
  /** `repository@digest` of the images on the box, as last looked up. */
  images(): string[];
  /** Runs one job to its end. Never rejects: whatever goes wrong is a `failed` finish. */
  run(job: RunnableJob, reporter: RunReporter, signals: RunSignals): Promise<Finish>;
  /** Stops every container. */
  close(): Promise<void>;
}
