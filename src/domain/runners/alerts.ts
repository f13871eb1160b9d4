/** The states of a whole fleet that need an operator, worst first. */
import { aboutText, count } from "../../lib/text.ts";
import type { QueueState, RunnerState } from "../../protocol/fleet.ts";
import { silenceOf } from "./silence.ts";

export interface FleetAlert {
  /** `bad`: predictions suffer from it. */
  level: "bad" | "warning";
  /** The runner or the class that the alert is about; neither for several. */
  about?: { runner: string } | { hardware: string };
  name?: string;
  text: string;
}

interface Fleet {
  runners: RunnerState[];
  complete: boolean;
  queues: QueueState[];
}

/** How long an offline runner is reported. */
const NEWS_MS = 86_400_000;
/** The wait from which a queue is reported: a large image may be pulled in a shorter one. */
const LONG_WAIT_MS = 600_000;
const NAMED = 5;

export function fleetAlerts(fleet: Fleet, now: number): FleetAlert[] {
  const { runners, complete, queues } = fleet;
  const alerts = [
    ...(complete ? [] : [MORE]),
    ...queues.flatMap((queue) => ofQueue(queue, fleet)),
    ...runners.flatMap((runner) => ofRunner(runner, fleet, now)),
    ...outdated(runners),
  ];
  return alerts.toSorted((a, b) => Number(b.level === "bad") - Number(a.level === "bad"));
}

const MORE: FleetAlert = {
  level: "warning",
  text: "There are more runners than this page looks at: only the newest are shown here. Remove those that are gone for good; GET /v1/operator/runners lists all of them.",
};

function ofQueue(queue: QueueState, { runners, complete }: Fleet): FleetAlert[] {
  const { hardware, waiting, oldest_wait_ms, reasons } = queue;
  const about = { about: { hardware }, name: hardware };
  if (!waiting) return [];
  const serving = runners.filter((runner) => runner.hardware.includes(hardware));
  const takers = serving.filter(mayTakeWork);
  if (complete && takers.every(isSetAside)) {
    const none =
      serving.length === 0
        ? "no runner serves this hardware."
        : "each runner of this hardware is offline, stopped, drained or set aside.";
    const text = `${count(waiting, "prediction")} ${waiting === 1 ? "waits" : "wait"}, and ${none}`;
    return [{ level: "bad", ...about, text }];
  }
  if (oldest_wait_ms === null || oldest_wait_ms < LONG_WAIT_MS) return [];
  const why = reasons[0]?.message ?? "";
  const have = waiting === 1 ? "A prediction has" : "Predictions have";
  const text = `${have} been waiting for ${aboutText(oldest_wait_ms)}. ${why}`.trim();
  return [{ level: "bad", ...about, text }];
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
  return `No other runner takes work for ${alone.join(", ")}: predictions wait. `;
}

/** Failed starts in a row that need an operator, even if the runner is not set aside. */
const MANY_FAILED = 3;

function ofRunner(runner: RunnerState, fleet: Fleet, now: number): FleetAlert[] {
  const { id, name, state, last_seen_at, lost_gpus, running, machine, revoked } = runner;
  const { set_aside_until, set_aside_reason, failed_starts } = runner;
  const about = { about: { runner: id }, name };
  const alerts: FleetAlert[] = [];
  const silent = silenceOf(runner, now);
  const gone =
    state === "offline" && !revoked && last_seen_at !== null
      ? now - Date.parse(last_seen_at)
      : NEWS_MS;
  if (silent !== undefined || gone < NEWS_MS) {
    const had =
      running.length === 0
        ? ""
        : ` When it last told, it had ${count(running.length, "prediction")}: those without output run again elsewhere, others fail.`;
    const text = `Not heard from for ${aboutText(silent ?? gone)}.${had}`;
    alerts.push({ level: running.length > 0 ? "bad" : "warning", ...about, text });
  }
  if (lost_gpus) {
    const of = machine ? ` of its ${count(machine.gpus.length, "GPU")}` : "";
    const text = `Has lost ${lost_gpus}${of}: nothing is started on ${lost_gpus === 1 ? "it" : "them"}. Look at nvidia-smi and dmesg there, then restart the runner.`;
    alerts.push({ level: "bad", ...about, text });
  }
  if (state === "offline") return alerts;
  if (set_aside_reason !== null)
    alerts.push({
      level: "bad",
      ...about,
      text: `Set aside because its machine fails to start containers: ${set_aside_reason}. ${lastText(runner, fleet)}It is tried again automatically. Once it is fixed, select Resume.`,
    });
  else if (set_aside_until !== null)
    alerts.push({
      level: "warning",
      ...about,
      text: "Set aside: it took predictions and did not connect for them, or declined them.",
    });
  else if (failed_starts && failed_starts.times >= MANY_FAILED)
    alerts.push({
      level: "bad",
      ...about,
      text: `Its machine failed the last ${failed_starts.times} starts: ${failed_starts.reason}.`,
    });
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
