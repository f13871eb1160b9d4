/** Texts on why a prediction waits, and what would help. */
import { aboutText, count, freeText } from "../../lib/text.ts";
import { runnersText } from "../scheduling/class-text.ts";
import type { Reason } from "../scheduling/decide/explain.ts";
import type { NamedRunner, SetAside } from "../scheduling/named-explanation.ts";
import { setupText } from "./setup-text.ts";
import { type SetupStanding, setupLeftMs } from "./standing.ts";

/** @param runners the runners that may be named: none for callers */
export function waitText(
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
      return `No runner of ${hardware} has ${count(reason.gpus, "working GPU")}: the largest has ${reason.most}. A larger one would help.`;
    case "share":
      return `Its account has as much of ${hardware} as it may while others want it: ${count(reason.most, "container")}. It has its turn again when one of the account's runs has ended, or when others have not wanted ${hardware} for 5 minutes.`;
    case "reserved":
      return `${first?.name ?? "A runner"} is kept for it, and ${freeText(reason.free_at - now)}.`;
    case "held":
      return `A container of its model ${reason.phase === "starting" ? "is starting" : "is busy"}${on(first)}, and will serve it sooner than a new one would.`;
    case "declined":
      return `Every runner of ${hardware} has declined it as they are now${runnersText(runners)}. It is offered again when one of them changes; another one would help.`;
    case "busy":
      return `${busyText(reason, hardware, runners)} ${lineText(reason)} Another runner would help.`;
  }
}

/** @param runners the runners that may be named: none for callers */
export const setAsideText = (
  { until }: SetAside,
  hardware: string,
  runners: readonly NamedRunner[],
  now: number,
): string =>
  `No runner of ${hardware} can start it now: each one is set aside after failed starts or missed connections${runnersText(runners)}. The next attempt is in ${aboutText(Math.max(0, until - now))}.`;

type Busy = Extract<Reason, { why: "busy" }>;

function busyText(
  { gpus, reserved }: Busy,
  hardware: string,
  runners: readonly NamedRunner[],
): string {
  const names = runners.length > 0 ? ` (${runners.map(({ name }) => name).join(", ")})` : "";
  const isKept = reserved.length > 0;
  if (gpus > 1)
    return `No runner of ${hardware} has ${gpus} GPUs free at once${isKept ? `, or it is kept for other predictions${names}` : ""}.`;
  return `All runners of ${hardware} are busy${isKept ? `, or kept for other predictions${names}` : ""}.`;
}

function lineText({ gpus, position, accounts }: Busy): string {
  const ahead = position - 1;
  if (ahead === 0)
    return `It is next in line${gpus > 1 ? ": if this lasts, one is kept for it" : ""}.`;
  const are = ahead === 1 ? "is" : "are";
  if (accounts === 0) return `${count(ahead, "prediction")} of its own account ${are} before it.`;
  return `${count(ahead, "prediction")} ${are} before it, of ${count(accounts, "other account")} and perhaps its own.`;
}

const on = (runner: NamedRunner | undefined) => (runner ? ` on ${runner.name}` : "");

export function setupWords(setup: SetupStanding, now: number): string {
  const left = setupLeftMs(setup, now);
  return `${setupText(setup.progress)}${left === undefined ? "" : `, ${aboutText(left)} left at this rate`}.`;
}

/** @param names of the containers that may be named, of `all` that were stopped */
export function stoppedText(names: readonly string[], all: number): string {
  if (all === 0) return "";
  const others = all - names.length;
  const parts = others > 0 ? [...names, count(others, "other idle container")] : names;
  return `${parts.join(" and ")} ${all === 1 ? "was" : "were"} stopped to make room.`;
}
