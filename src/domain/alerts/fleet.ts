/** The states of a whole fleet that need an operator, worst first. */
import { aboutText, byteText, count } from "../../lib/text.ts";
import type { QueueState, RunnerState } from "../../protocol/fleet.ts";
import { goneFor, isMissed, wantedHardware } from "../runners/silence.ts";
import { type Alert, type AlertLevel, type RuleId, ruleOf } from "./rules.ts";

export interface FleetAlert {
  /** Undefined: a note of the Fleet page, of which no messages are sent. */
  rule?: RuleId;
  level: AlertLevel;
  /** The runner or the class that the alert is about; neither for several. */
  about?: { runner: string } | { hardware: string };
  name?: string;
  text: string;
  /** A guide that says what to do. */
  help?: { address: string; name: string };
}

interface Fleet {
  runners: RunnerState[];
  complete: boolean;
  queues: QueueState[];
}

/** How long the Fleet page shows an offline runner as a problem. */
const NEWS_MS = 86_400_000;
/** How long a drained runner may take to finish its predictions before that is reported. */
const DRAIN_MS = 3_600_000;
/** The wait from which a queue is reported: a large image may be pulled in a shorter one. */
const LONG_WAIT_MS = 600_000;
/** GPUs slow themselves down near this temperature in °C. */
const HOT_CELSIUS = 90;
/** The space that a disk should have: a share of a small disk, and so many bytes of others. */
const MIN_FREE_SHARE = 0.05;
const MIN_FREE_BYTES = 10e9;
const NAMED = 5;

interface Limits {
  longWaitMs?: number;
  /** How long an offline runner is reported. */
  newsMs?: number;
}

export function fleetAlerts(fleet: Fleet, now: number, limits: Limits = {}): FleetAlert[] {
  const { runners, complete, queues } = fleet;
  const { longWaitMs = LONG_WAIT_MS, newsMs = NEWS_MS } = limits;
  const alerts = [
    ...(complete ? [] : [MORE]),
    ...queues.flatMap((queue) => ofQueue(queue, fleet, longWaitMs)),
    ...runners.flatMap((runner) => ofRunner(runner, fleet, now, newsMs)),
    ...outdated(runners),
  ];
  return alerts.toSorted((a, b) => Number(b.level === "bad") - Number(a.level === "bad"));
}

/** Returns the alerts of which messages are sent. */
export const toldAlerts = (alerts: FleetAlert[]): Alert[] =>
  alerts.flatMap(({ rule, level, about, name = "", text }) => {
    if (!rule || !about) return [];
    return [
      { rule, level, subject: "runner" in about ? about.runner : about.hardware, name, text },
    ];
  });

const MORE: FleetAlert = {
  level: "warning",
  text: "Only the newest 200 runners are shown. Remove the ones that are gone for good. GET /v1/operator/runners lists all of them.",
};

function ofQueue(
  queue: QueueState,
  { runners, complete }: Fleet,
  longWaitMs: number,
): FleetAlert[] {
  const { hardware, waiting, oldest_wait_ms, reasons } = queue;
  const about = { about: { hardware }, name: hardware };
  if (!waiting) return [];
  const serving = runners.filter((runner) => runner.hardware.includes(hardware));
  const takers = serving.filter(mayTakeWork);
  if (complete && takers.every(isSetAside)) {
    const none =
      serving.length === 0
        ? "No runner serves this hardware."
        : "Every runner is offline, stopped, draining, or paused.";
    const text = `${count(waiting, "prediction")} queued. ${none}`;
    return [{ rule: "no_runner", level: "bad", ...about, text }];
  }
  if (oldest_wait_ms === null || oldest_wait_ms < longWaitMs) return [];
  const why = reasons[0]?.message ?? "";
  const text =
    `${count(waiting, "prediction")} queued (longest ${aboutText(oldest_wait_ms)}). ${why}`.trim();
  return [{ rule: "long_wait", level: "bad", ...about, text }];
}

/** Whether a runner may take work. A runner that did not answer may be well. */
const mayTakeWork = ({ state, draining }: RunnerState) =>
  (state === "ready" || state === "unknown") && !draining;

const isSetAside = ({ set_aside_until }: RunnerState) => set_aside_until !== null;

/** Returns the text if predictions wait for this runner, because no other runner takes their jobs. */
function lastText({ hardware }: RunnerState, { runners, complete }: Fleet): string {
  const takers = runners.filter((one) => mayTakeWork(one) && !isSetAside(one));
  const alone = hardware.filter((name) => !takers.some((one) => one.hardware.includes(name)));
  if (!complete || alone.length === 0) return "";
  return `No other runner accepts ${alone.join(", ")} work. `;
}

/** Failed starts in a row that need an operator, even if the runner is not set aside. */
const MANY_FAILED = 3;

function ofRunner(runner: RunnerState, fleet: Fleet, now: number, newsMs: number): FleetAlert[] {
  const { id, name, state, lost_gpus, running, machine, draining_since } = runner;
  const { set_aside_until, set_aside_reason, failed_starts, gpu_celsius, disk } = runner;
  const about = { about: { runner: id }, name };
  const alerts: FleetAlert[] = [];
  const add = (rule: RuleId, level: AlertLevel, text: string) => {
    const { page } = ruleOf(rule);
    const help = page.startsWith("/docs/") && { help: { address: page, name: "What to do" } };
    alerts.push({ rule, level, ...about, text, ...help });
  };
  const gone = goneFor(runner, now) ?? newsMs;
  const isWanted = !runner.draining || running.length > 0;
  if (isWanted && gone < newsMs && isMissed(runner, wantedHardware(fleet.queues), now)) {
    const had =
      running.length > 0
        ? ` Its ${count(running.length, "prediction")} will be retried on another runner, or fail if output was already sent.`
        : "";
    add("runner_lost", "bad", `Offline. Last seen ${aboutText(gone)} ago.${had}`);
  }
  if (lost_gpus) {
    const of = machine ? ` of ${machine.gpus.length}` : "";
    add(
      "gpu_lost",
      "bad",
      `Lost ${lost_gpus}${of} ${lost_gpus === 1 && !machine ? "GPU" : "GPUs"}.`,
    );
  }
  if (state === "offline") return alerts;
  if (gpu_celsius !== null && gpu_celsius > HOT_CELSIUS)
    add("gpu_hot", "warning", `Its hottest GPU is at ${Math.round(gpu_celsius)} °C.`);
  if (disk && disk.free_bytes < Math.min(MIN_FREE_BYTES, MIN_FREE_SHARE * disk.total_bytes))
    add(
      "disk_full",
      "warning",
      `Its disk has ${byteText(disk.free_bytes)} of ${byteText(disk.total_bytes)} free.`,
    );
  const drainedFor = draining_since === null ? 0 : now - Date.parse(draining_since);
  if (drainedFor >= DRAIN_MS && running.length > 0)
    add(
      "drain_stuck",
      "warning",
      `Draining for ${aboutText(drainedFor)}, with ${count(running.length, "prediction")} still running.`,
    );
  if (set_aside_reason !== null)
    add(
      "runner_failing",
      "bad",
      `Paused because containers fail to start: ${set_aside_reason}. ${lastText(runner, fleet)}Auspex retries automatically. To retry now, select Resume.`,
    );
  else if (set_aside_until !== null)
    add(
      "runner_paused",
      "warning",
      "Paused because it accepted predictions but did not start them.",
    );
  else if (failed_starts && failed_starts.times >= MANY_FAILED)
    add(
      "runner_failing",
      "bad",
      `The last ${failed_starts.times} container starts failed: ${failed_starts.reason}.`,
    );
  return alerts;
}

function outdated(runners: RunnerState[]): FleetAlert[] {
  const old = runners.filter(({ outdated, state }) => outdated && state !== "offline");
  if (old.length === 0) return [];
  const names = old.slice(0, NAMED).map(({ name }) => name);
  const more = old.length > NAMED ? ` and ${old.length - NAMED} more` : "";
  const are = `${count(old.length, "runner")} ${old.length === 1 ? "is" : "are"} out of date`;
  return [{ level: "warning", text: `${are}: ${names.join(", ")}${more}.` }];
}
