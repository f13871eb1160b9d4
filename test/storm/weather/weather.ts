/** The weather: it causes the faults of the plan at their times, and heals everything at the end. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Cable } from "../../processes/cable.ts";
import { workerdPid } from "../../processes/workerd.ts";
import { type Fault, nameOf } from "../plan/faults.ts";
import type { Recorder } from "../recorder.ts";
import type { Running } from "./models.ts";
import type { StormRunner } from "./storm-runner.ts";

export interface Breakable {
  deployment: { url: string };
  runners: StormRunner[];
  /** The cable before each runner. */
  cables: Cable[];
  callersCable: Cable;
  receiverCable: Cable;
}

/** A busy machine takes up to 20 s to start workerd. */
const START_MS = 60_000;
/** A control plane under load takes seconds for an answer, ms. */
const ANSWER_MS = 10_000;
const POLL_MS = 100;
/** The longest delay of a cable, ms. */
const MOST_DELAY_MS = 1_500;

/** Resolves when all faults are over. The faults of one target come one after the other. */
export async function unleash(at: Breakable, faults: Fault[], recorder: Recorder): Promise<void> {
  const began = Date.now();
  const byTarget = Map.groupBy(faults, ({ target }) => nameOf(target));
  await Promise.all(
    [...byTarget].map(async ([name, own]) => {
      for (const fault of own) {
        await sleep(Math.max(0, began + fault.at - Date.now()));
        const { how, ms, target } = fault;
        if (target.what === "control plane") await answers(at.deployment.url);
        recorder.fault(`${name}: ${how}`, ms);
        await harm(at, fault);
        if (ms > 0) recorder.note(`${name}: over`);
      }
    }),
  );
}

async function harm(at: Breakable, fault: Fault): Promise<void> {
  const { target, how, ms, share } = fault;
  switch (target.what) {
    case "control plane":
      if (how === "pause") return pauseControlPlane(ms);
      killControlPlane();
      if (how === "power cut") await Promise.all(at.runners.map((runner) => runner.kill(ms)));
      return;
    case "runner": {
      const runner = pick(at.runners, target.runner);
      if (how === "kill") return runner.kill(ms);
      return how === "pause" ? runner.pause(ms) : runner.drain(ms);
    }
    case "model":
      return killOne(pick(at.runners, target.runner).models, share);
    case "cable":
      return harmCable(cableOf(at, target.before), fault);
  }
}

function cableOf({ cables, callersCable, receiverCable }: Breakable, before: unknown): Cable {
  if (before === "callers") return callersCable;
  return before === "receiver" ? receiverCable : pick(cables, Number(before));
}

async function harmCable(cable: Cable, { how, ms, share }: Fault): Promise<void> {
  switch (how) {
    case "cut":
      return cable.cut();
    case "reset":
      return cable.reset();
    case "delay":
      cable.delay(share * MOST_DELAY_MS);
      await sleep(ms);
      return cable.delay(0);
    case "refuse":
      cable.refuse();
      break;
    default:
      cable.swallow();
  }
  await sleep(ms);
  cable.heal();
}

/** Waits until the control plane answers: Miniflare does not replace one that is killed while it starts. */
async function answers(url: string): Promise<void> {
  const deadline = Date.now() + START_MS;
  for (;;) {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await fetch(`${url}/v1/hardware`, { signal }).catch(() => undefined);
    if (response?.ok) return;
    if (Date.now() > deadline) throw new Error("the control plane did not come back");
    await sleep(POLL_MS);
  }
}

/** Kills workerd; Miniflare starts it again on the same port and state. */
function killControlPlane(): void {
  const pid = workerdPid();
  if (pid !== undefined) process.kill(pid, "SIGKILL");
}

async function pauseControlPlane(ms: number): Promise<void> {
  const pid = workerdPid();
  if (pid === undefined) return;
  process.kill(pid, "SIGSTOP");
  await sleep(ms);
  process.kill(pid, "SIGCONT");
}

async function killOne(models: Running, share: number): Promise<void> {
  const running = await models.list();
  const one = running[Math.floor(share * running.length)];
  if (one !== undefined) await models.kill(one).catch(() => {});
}

function pick<Of>(all: Of[], n: number): Of {
  const one = all[n];
  if (one === undefined) throw new Error(`there is no ${n}`);
  return one;
}
