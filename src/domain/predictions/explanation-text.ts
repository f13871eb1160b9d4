/** Why a prediction waits, in words, with what would help. */

import { aboutText, count, inText } from "../../lib/count-text.ts";
import type { Reason } from "../scheduling/decide/explain.ts";
import type { NamedRunner } from "../scheduling/named-explanation.ts";
import { setupText } from "./setup-text.ts";
import { type SetupStanding, setupLeftMs } from "./standing.ts";

/** @param runners those that may be named: none for callers */
export function waitText(
  reason: Exclude<Reason, { why: "starting" }>,
  hardware: string,
  runners: readonly NamedRunner[],
  now: number,
): string {
  const [first] = runners;
  switch (reason.why) {
    case "no-box":
      return `No runner that takes work serves ${hardware}. It starts when one is online.`;
    case "too-small":
      return `No runner of ${hardware} has ${count(reason.gpus, "working GPU")}: the largest has ${reason.most}. A larger one would help.`;
    case "share":
      return `Its account has as much of ${hardware} as it may while others want it: ${count(reason.most, "container")}. It starts when one of the account's runs ends.`;
    case "reserved":
      return `${first?.name ?? "A runner"} is kept for it, and expected to be free ${inText(reason.free_at - now)}.`;
    case "held":
      return `A container of its model ${reason.phase === "starting" ? "is starting" : "is busy"}${on(first)}, and will serve it sooner than a new one would.`;
    case "declined":
      return `Every runner of ${hardware} has declined it as they are now${declinedBy(runners)}. It is offered again when one of them changes; another one would help.`;
    case "busy":
      return `All runners of ${hardware} are busy. ${lineText(reason)} ${keptText(reason.reserved.length, runners)}Another runner would help.`;
  }
}

function lineText({ position, accounts }: Extract<Reason, { why: "busy" }>): string {
  const ahead = position - 1;
  if (ahead === 0) return "It is next in line.";
  const are = ahead === 1 ? "is" : "are";
  if (accounts === 0) return `${count(ahead, "prediction")} of its own account ${are} before it.`;
  return `${count(ahead, "prediction")} ${are} before it, of ${count(accounts, "other account")} and perhaps its own.`;
}

function keptText(kept: number, runners: readonly NamedRunner[]): string {
  if (kept === 0) return "";
  const names = runners.length > 0 ? ` (${runners.map(({ name }) => name).join(", ")})` : "";
  return `${count(kept, "runner")}${names} ${kept === 1 ? "is" : "are"} kept for other predictions. `;
}

const declinedBy = (runners: readonly NamedRunner[]): string =>
  runners.length === 0
    ? ""
    : `: ${runners.map(({ name, reason }) => (reason ? `${name} (${reason})` : name)).join(", ")}`;

const on = (runner: NamedRunner | undefined) => (runner ? ` on ${runner.name}` : "");

export function setupWords(setup: SetupStanding, now: number): string {
  const left = setupLeftMs(setup, now);
  return `${setupText(setup.progress)}${left === undefined ? "" : `, ${aboutText(left)} left at this rate`}.`;
}

/** @param names of those that may be named, of `all` that were stopped */
export function stoppedText(names: readonly string[], all: number): string {
  if (all === 0) return "";
  const others = all - names.length;
  const parts = others > 0 ? [...names, count(others, "other idle container")] : names;
  return `${parts.join(" and ")} ${all === 1 ? "was" : "were"} stopped to make room.`;
}
