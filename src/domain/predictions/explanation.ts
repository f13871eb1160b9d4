/**
 * Why a prediction does not run yet, from what it knows and what its pool knows, for one viewer: other models
 * are named to their owners and operators, runners to operators.
 */
import type { Explanation, PastStep, ReasonCode } from "../../protocol/explanation.ts";
import type { Range } from "../scheduling/decide/forecasts.ts";
import type {
  ContainerName,
  NamedExplanation,
  NamedModel,
} from "../scheduling/named-explanation.ts";
import { REASON_CODES } from "../scheduling/reason-codes.ts";
import { setAsideText, setupWords, stoppedText, waitText } from "./explanation-text.ts";
import type { Standing } from "./standing.ts";
import { isTerminal } from "./state.ts";
import {
  type FailedAttempt,
  NO_MOMENTS,
  type PredictionTimes,
  type Step,
  timeline,
} from "./timeline.ts";

/** The pool's answer: null if it does not know the job, undefined if it did not answer. */
export type PoolAnswer = NamedExplanation | null | undefined;

export interface Viewer {
  isOperator: boolean;
  /** Whether a model's name may be shown. */
  sees: (model: NamedModel) => boolean;
}

/** Whether the pool must be asked: the model does not run yet. */
export const isWaiting = ({ times, moments }: Standing): boolean =>
  !isTerminal(times.status) && (moments.ready ?? moments.output) === null;

export function explanationOf(
  standing: Standing,
  answer: PoolAnswer,
  viewer: Viewer,
  now: number,
): Explanation {
  const { times, moments, waiting_since, handed_at } = standing;
  const attempt = attemptOf(standing);
  const history = pastSteps(timeline(moments, times), attempt);
  const common = { status: times.status, attempt, history };
  if (!isWaiting(standing)) return { ...common, ...NO_REASON };
  const known = isBehind(standing, answer) ? null : answer;
  const busy = known?.reason.why === "busy" ? known.reason : undefined;
  return {
    ...common,
    reason: reasonOf(standing, known, viewer, now),
    position: busy?.position ?? null,
    accounts_ahead: busy?.accounts ?? null,
    starts_in: known && known.range !== "unknown" ? secondsOf(known.range) : null,
    since: timeOf(isInLine(known) ? waiting_since : (handed_at ?? waiting_since)),
  };
}

const isInLine = (answer: PoolAnswer): boolean =>
  answer !== undefined && answer !== null && answer.reason.why !== "starting";

/** Whether the pool takes the prediction for a waiting one although its runner has reported. */
const isBehind = ({ moments }: Standing, answer: PoolAnswer): boolean =>
  moments.started !== null && isInLine(answer);

/**
 * Returns the number of the present attempt. A prediction that ended without another attempt ended with the
 * last that failed.
 */
function attemptOf({ times, moments: { failed, started } }: Standing): number {
  const isOver = isTerminal(times.status) && started === null;
  return isOver ? Math.max(1, failed.length) : failed.length + 1;
}

const NO_REASON = {
  reason: null,
  position: null,
  accounts_ahead: null,
  starts_in: null,
  since: null,
};

/** Returns the explanation of a prediction whose record is deleted, from its row. */
export const explanationOfRow = (times: PredictionTimes): Explanation => ({
  status: times.status,
  attempt: 1,
  history: pastSteps(timeline(NO_MOMENTS, times), 1),
  ...NO_REASON,
});

function reasonOf(
  standing: Standing,
  answer: PoolAnswer,
  viewer: Viewer,
  now: number,
): NonNullable<Explanation["reason"]> {
  const { moments, setup, handed_at, hardware } = standing;
  const runners = viewer.isOperator ? [...(answer?.runners ?? [])] : [];
  const stopped = answer?.stopped.flatMap((one) => nameFor(one, viewer)) ?? [];
  const madeRoom = stoppedText(stopped, answer?.stopped.length ?? 0);
  const because = (code: ReasonCode, ...texts: string[]) => {
    const message = texts.filter((text) => text !== "").join(" ");
    return { code, message, stopped, runners };
  };
  if (setup) {
    const code = setup.progress.phase === "pulling" ? "pulling" : "starting";
    return because(code, setupWords(setup, now), madeRoom);
  }
  const before = failedText(moments.failed);
  if (answer?.reason.why === "starting")
    return because("starting", before, "A container for it is starting.", madeRoom);
  if (answer) {
    const { reason } = answer;
    const text = answer.set_aside
      ? setAsideText(answer.set_aside, hardware, runners, now)
      : waitText(reason, hardware, runners, now);
    return because(REASON_CODES[reason.why], before, text);
  }
  if (handed_at !== null)
    return because("handed_over", before, "A runner has it, and is about to begin.");
  if (answer === undefined)
    return because("unknown", before, "Its queue did not answer in time. Ask again in a moment.");
  return because("queued", before, "It is on its way into the queue.");
}

function nameFor({ image, model }: ContainerName, viewer: Viewer): string[] {
  if (model) return viewer.isOperator || viewer.sees(model) ? [model.name] : [];
  return viewer.isOperator && image !== "" ? [image] : [];
}

function failedText(failed: FailedAttempt[]): string {
  const last = failed.at(-1);
  if (!last) return "";
  const what = last.reason === "lost" ? "was lost" : "handed it back";
  return `The runner of attempt ${failed.length} ${what}, and it waits again.`;
}

/** @param attempt the last one */
function pastSteps(steps: Step[], attempt: number): PastStep[] {
  return steps.flatMap(({ kind, state, at, seconds, attempt: of, phases = [] }): PastStep[] => {
    const step = (event: PastStep["event"], from: number | null, took: number | null) => ({
      event,
      attempt: of?.number ?? attempt,
      at: timeOf(from),
      seconds: took,
    });
    if (kind === "failed" && of) return [step(of.reason, at, seconds)];
    if (kind === "setup" && phases.length > 0)
      return phases
        .filter((phase) => phase.seconds !== null || state === "past")
        .map((one) => step(PHASES[one.phase], one.at, one.seconds));
    const event = EVENTS[kind];
    return state === "past" && event ? [step(event, at, seconds)] : [];
  });
}

const PHASES = { pulling: "pulled", starting: "started" } as const;

const EVENTS: Partial<Record<Step["kind"], PastStep["event"]>> = {
  queued: "waited",
  setup: "set_up",
  started: "ran",
};

const timeOf = (at: number | null) => (at === null ? null : new Date(at).toISOString());

const secondsOf = ({ p10_ms, p90_ms }: Range) => ({
  p10_seconds: Math.round(p10_ms / 100) / 10,
  p90_seconds: Math.round(p90_ms / 100) / 10,
});
