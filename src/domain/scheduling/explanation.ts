/** Why jobs wait, with the names of all: the callers decide who may see them. */

import { aboutText, count, freeText } from "../../lib/text.ts";
import type { ReasonCode } from "../../protocol/explanation.ts";
import type { Explanation } from "./decide/explain.ts";
import type { ClassExplanation, ClassReason, SomeReason } from "./decide/explain-class.ts";

/** A model as it was named when a job of it was asked for. */
export interface NamedModel {
  /** `owner/name:version` */
  name: string;
  model_id: string;
  model_owner_id: string;
}

/** The model and image of a container; only the image if no job has asked for it lately. */
export interface ContainerName {
  image: string;
  model: NamedModel | null;
}

export interface NamedRunner {
  id: string;
  name: string;
  /** Why the runner has declined the job, or is set aside. */
  reason: string | null;
}

/** The runners of a class that are set aside, while no other one takes its jobs. */
export interface SetAside {
  runners: NamedRunner[];
  /** When the first of them is tried again, unix ms. */
  until: number;
}

export interface NamedExplanation extends Explanation {
  runners: NamedRunner[];
  /** Containers that are stopped to make room for the job. */
  stopped: ContainerName[];
  set_aside?: SetAside | undefined;
}

export interface NamedClassExplanation extends ClassExplanation {
  names: Record<string, string>;
  set_aside?: SetAside | undefined;
}

export const REASON_CODES: Record<ClassReason["why"], ReasonCode> = {
  "no-box": "no_runner",
  "too-small": "too_small",
  share: "account_share",
  held: "held",
  reserved: "reserved",
  declined: "declined",
  busy: "busy",
};

export function classReasonText(
  reason: ClassReason,
  explanation: NamedClassExplanation,
  hardware: string,
  now: number,
): string {
  const { why, jobs, accounts, boxes, free_at } = reason;
  const { gpus, names, set_aside } = explanation;
  const runners = boxes.map((id) => names[id] ?? id).join(", ");
  const wait = `${count(jobs, "prediction")} ${jobs === 1 ? "waits" : "wait"}`;
  switch (why) {
    case "no-box":
      if (set_aside)
        return `${wait}: each runner of ${hardware} that is not drained is paused${runnersText(set_aside.runners)}. Fix what their pages say, then select Resume; the next attempt is in ${aboutText(Math.max(0, set_aside.until - now))}.`;
      return `${wait}: no runner that takes work serves ${hardware}. Start one, or resume one that drains.`;
    case "too-small":
      return `${wait}: no runner of ${hardware} has ${count(gpus, "working GPU")}. A larger one would help.`;
    case "share":
      return `${wait}: ${accounts === 1 ? "an account has its share" : `${accounts} accounts have their shares`} (ACCOUNT_SHARE) while others want ${hardware}, or did within 5 minutes. Another runner would help.`;
    case "held":
      return `${wait} for containers of their models, which start or are busy.`;
    case "reserved":
      return `${wait} for ${runners}, which is kept for that, and ${freeText((free_at ?? now) - now)}.`;
    case "declined":
      return `${wait}: declined by ${runners} as they are now. Look at their logs; another runner would help.`;
    case "busy":
      return `${wait}: ${busyText(explanation, runners)}. ${helpText(explanation)}`;
  }
}

function busyText(
  { gpus, boxes, box_gpus, used_gpus }: NamedClassExplanation,
  kept: string,
): string {
  const others = kept === "" ? "" : `, and ${kept} is kept for other predictions`;
  if (gpus === 0)
    return `${boxes === 1 ? "its only runner is busy" : `all ${count(boxes, "runner")} are busy`}${others}`;
  const used = `${used_gpus} of ${count(box_gpus, "GPU")} busy`;
  if (used_gpus < box_gpus && kept === "")
    return `no runner has a slot and ${count(gpus, "GPU")} free, with ${used}`;
  if (used_gpus < box_gpus) return `${kept} is kept for other predictions, with ${used}`;
  return `${box_gpus === 1 ? "the only GPU is busy" : `all ${count(box_gpus, "GPU")} are busy`}${others}`;
}

const helpText = ({ lacks_slots }: NamedClassExplanation): string =>
  lacks_slots
    ? "There is a container with room on a runner without a free slot: more slots (--slots) or another runner would help."
    : "Another runner would help.";

/** Lists runners, with the reason why each has declined the job, or is set aside. */
export const runnersText = (runners: readonly NamedRunner[]): string =>
  runners.length === 0
    ? ""
    : `: ${runners.map(({ name, reason }) => (reason ? `${name} (${reason})` : name)).join(", ")}`;

/** @param isOperator whether the reader can change the fleet */
export function modelWaitText(
  { why, hardware, gpus, jobs }: SomeReason,
  isOperator: boolean,
): string {
  const isOne = jobs === 1;
  const help = (own: string, ask: string) => (isOperator ? own : `Ask an operator for ${ask}.`);
  switch (why) {
    case "no-box":
      return `No runner of ${hardware} is taking work. ${help("Start one, or resume one that is drained or paused.", "one")}`;
    case "too-small":
      return `No runner of ${hardware} has ${count(gpus, "working GPU")}. ${help("A larger one would help.", "a larger one, or publish a version for other hardware")}`;
    case "share":
      return isOne
        ? `Its account has as much of ${hardware} as one account may have while others wait. It goes on as runs of that account end.`
        : `Their accounts have as much of ${hardware} as one account may have while others wait. They go on as runs of the same account end.`;
    case "held":
      return "A container of the model is starting or busy, and will be free sooner than a new one would start. If the model can run several at a time, a version with a higher concurrency would help.";
    case "reserved":
      return isOne
        ? "A busy runner is reserved for it, and takes no other work until then."
        : "Busy runners are reserved for them, and take no other work until then.";
    case "declined":
      return `Every runner of ${hardware} has declined ${isOne ? "it" : "them"}, as things are there now. ${help("Look at the runners’ logs.", "a look at the runners’ logs")}`;
    case "busy":
      return `All runners of ${hardware} are busy. ${help("Another runner would help.", "another runner, if it stays like this")}`;
  }
}
