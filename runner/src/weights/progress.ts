/** The progress of weights that are fetched, and that of everything a container needs before it starts. */
import { formatAmount } from "../engines/docker/pull-progress.ts";
import type { ReportProgress } from "../engines/engine.ts";

/** At most four reports per second. */
const REPORT_INTERVAL_MS = 250;

export class WeightProgress {
  readonly #report: ReportProgress;
  readonly #now: () => number;
  #total = 0;
  #come = 0;
  #reported = Number.NEGATIVE_INFINITY;

  constructor(report: ReportProgress, now: () => number = () => performance.now()) {
    this.#report = report;
    this.#now = now;
  }

  /** Adds bytes that are to come, or that have come before. */
  expect(bytes: number): void {
    this.#total += bytes;
  }

  readonly add = (bytes: number): void => {
    this.#come += bytes;
    if (this.#now() - this.#reported < REPORT_INTERVAL_MS) return;
    this.#reported = this.#now();
    const part = Math.min(this.#come, this.#total);
    const message = `loading the weights: ${formatAmount(part, this.#total)}`;
    this.#report({ phase: "pulling", message, progress: part / this.#total });
  };

  waiting(): void {
    const message = "waiting for disk space for the weights on the runner's machine";
    this.#report({ phase: "pulling", message });
  }
}

interface ProgressPart {
  report: ReportProgress;
  /** Call this when no more progress follows. */
  end: () => void;
}

/** Joins the progress of two tasks that run at the same time: each is one half. */
export function joinProgress(report: ReportProgress): [ProgressPart, ProgressPart] {
  const now: { message?: string | undefined; progress: number }[] = [
    { progress: 0 },
    { progress: 0 },
  ];
  const part = (n: 0 | 1): ProgressPart => ({
    report: ({ message, progress = now[n]?.progress ?? 0 }) => {
      now[n] = { message, progress };
      const messages = now.flatMap((one) => one.message ?? []);
      const sum = now.reduce((all, one) => all + one.progress, 0);
      report({ phase: "pulling", message: messages.join("; "), progress: sum / now.length });
    },
    end: () => {
      now[n] = { progress: 1 };
    },
  });
  return [part(0), part(1)];
}
