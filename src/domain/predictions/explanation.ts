/**
 * Why a prediction does not run yet, from what it knows and what its pool knows, for one viewer: other models
 * are named to their owners and operators, runners to operators.
 */

import { aboutText, count, freeText } from "../../lib/text.ts";
import type { Explanation, PastStep, ReasonCode } from "../../protocol/explanation.ts";
import type { Reason } from "../scheduling/decide/explain.ts";
import type { Range } from "../scheduling/decide/forecasts.ts";
import {
  type ContainerName,
  type NamedExplanation,
  type NamedModel,
  type NamedRunner,
  REASON_CODES,
  runnersText,
  type SetAside,
} from "../scheduling/explanation.ts";
import { isTerminal } from "./status.ts";
import {
  type FailedAttempt,
  NO_MOMENTS,
  type PredictionTimes,
  type RunFacts,
  type SetupFacts,
  type Step,
  setupLeftMs,
  setupText,
  timeline,
} from "./timeline.ts";

/** The pool's answer: null if it does not know the job, undefined if it did not answer. */
export type PoolAnswer = NamedExplanation | null | undefined;

export interface Viewer {
  isOperator: boolean;
  sees: (model: NamedModel) => boolean;
}

/** Whether the pool must be asked: the model does not run yet. */
export const isWaiting = ({ times, moments }: RunFacts): boolean =>
  !isTerminal(times.status) && (moments.ready ?? moments.output) === null;

export function explanationOf(
  facts: RunFacts,
  answer: PoolAnswer,
  viewer: Viewer,
  now: number,
): Explanation {
  const { times, moments, waiting_since, handed_at } = facts;
  const attempt = attemptOf(facts);
  const history = pastSteps(timeline(moments, times), attempt);
  const common = { status: times.status, attempt, history };
  if (!isWaiting(facts)) return { ...common, ...NO_REASON };
  const known = isBehind(facts, answer) ? null : answer;
  const busy = known?.reason.why === "busy" ? known.reason : undefined;
  return {
    ...common,
    reason: reasonOf(facts, known, viewer, now),
    position: busy?.position ?? null,
    accounts_ahead: busy?.accounts ?? null,
    starts_in: known && known.range !== "unknown" ? secondsOf(known.range) : null,
    since: timeOf(isInLine(known) ? waiting_since : (handed_at ?? waiting_since)),
  };
}

const isInLine = (answer: PoolAnswer): boolean =>
  answer !== undefined && answer !== null && answer.reason.why !== "starting";

/** Whether the pool takes the prediction for a waiting one although its runner has reported. */
const isBehind = ({ moments }: RunFacts, answer: PoolAnswer): boolean =>
  moments.started !== null && isInLine(answer);

function attemptOf({ times, moments: { failed, started } }: RunFacts): number {
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
  facts: RunFacts,
  answer: PoolAnswer,
  viewer: Viewer,
  now: number,
): NonNullable<Explanation["reason"]> {
  const { moments, setup, handed_at, hardware } = facts;
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
    return because("starting", before, "A container is starting.", madeRoom);
  if (answer) {
    const { reason } = answer;
    const text = answer.set_aside
      ? setAsideText(answer.set_aside, hardware, runners, now)
      : waitText(reason, hardware, runners, now);
    return because(REASON_CODES[reason.why], before, text);
  }
  if (handed_at !== null)
    return because("handed_over", before, "Assigned to a runner and about to start.");
  if (answer === undefined)
    return because("unknown", before, "The queue did not respond in time. Try again in a moment.");
  return because("queued", before, "Entering the queue.");
}

function nameFor({ image, model }: ContainerName, viewer: Viewer): string[] {
  if (model) return viewer.isOperator || viewer.sees(model) ? [model.name] : [];
  return viewer.isOperator && image !== "" ? [image] : [];
}

function failedText(failed: FailedAttempt[]): string {
  const last = failed.at(-1);
  if (!last) return "";
  const what = last.reason === "lost" ? "was lost" : "returned it";
  return `The runner of attempt ${failed.length} ${what}. The prediction was requeued.`;
}

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

/** @param runners the runners that may be named: none for callers */
function waitText(
  reason: Exclude<Reason, { why: "starting" }>,
  hardware: string,
  runners: readonly NamedRunner[],
  now: number,
): string {
  const [first] = runners;
  switch (reason.why) {
    case "no-box":
      return `No ${hardware} runner is accepting work. It starts once one comes online or is resumed.`;
    case "too-small":
      return `No ${hardware} runner has ${count(reason.gpus, "working GPU")} (largest: ${reason.most}). Waiting for a larger runner.`;
    case "share":
      return `The account has reached its share of ${hardware} while others are waiting: ${count(reason.most, "container")}. The prediction starts when another run of the account ends, or once no one else has waited for ${hardware} for 5 minutes.`;
    case "reserved":
      return `${first?.name ?? "A runner"} is reserved for it and ${freeText(reason.free_at - now)}.`;
    case "held":
      return `A container of this model ${reason.phase === "starting" ? "is starting" : "is busy"}${on(first)} and will be available sooner than a new one.`;
    case "declined":
      return `Every ${hardware} runner has declined it${runnersText(runners)}. Auspex offers it again when a runner changes or another one comes online.`;
    case "busy":
      return `${busyText(reason, hardware, runners)} ${lineText(reason)}`;
  }
}

/** @param runners the runners that may be named: none for callers */
const setAsideText = (
  { until }: SetAside,
  hardware: string,
  runners: readonly NamedRunner[],
  now: number,
): string =>
  `All ${hardware} runners are paused after failed starts or missed connections${runnersText(runners)}. Next retry in ${aboutText(Math.max(0, until - now))}.`;

type Busy = Extract<Reason, { why: "busy" }>;

function busyText(
  { gpus, reserved }: Busy,
  hardware: string,
  runners: readonly NamedRunner[],
): string {
  const names = runners.length > 0 ? ` (${runners.map(({ name }) => name).join(", ")})` : "";
  const isKept = reserved.length > 0;
  if (gpus > 1)
    return `No ${hardware} runner has ${gpus} free GPUs${isKept ? `, or it is reserved for other predictions${names}` : ""}.`;
  return `All ${hardware} runners are busy${isKept ? ` or reserved for other predictions${names}` : ""}.`;
}

function lineText({ gpus, position, accounts }: Busy): string {
  const ahead = position - 1;
  if (ahead === 0)
    return `It is next in the queue${gpus > 1 ? ", and a runner is reserved for it if the wait continues" : ""}.`;
  const are = ahead === 1 ? "is" : "are";
  if (accounts === 0)
    return `${count(ahead, "prediction")} of the same account ${are} ahead of it.`;
  return `${count(ahead, "prediction")} ${are} ahead of it, from ${count(accounts, "other account")} and possibly its own.`;
}

const on = (runner: NamedRunner | undefined) => (runner ? ` on ${runner.name}` : "");

function setupWords(setup: SetupFacts, now: number): string {
  const left = setupLeftMs(setup, now);
  return `${setupText(setup.progress)}${left === undefined ? "" : `, ${aboutText(left)} left at this rate`}.`;
}

/** @param names of the containers that may be named, of `all` that were stopped */
function stoppedText(names: readonly string[], all: number): string {
  if (all === 0) return "";
  const others = all - names.length;
  const parts = others > 0 ? [...names, count(others, "other idle container")] : names;
  return `${parts.join(" and ")} ${all === 1 ? "was" : "were"} stopped to make room.`;
}
