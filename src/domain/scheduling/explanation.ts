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
  const wait = `${count(jobs, "prediction")} queued.`;
  switch (why) {
    case "no-box":
      if (set_aside)
        return `${wait} All ${hardware} runners are draining or paused${runnersText(set_aside.runners)}. Fix the errors shown on their pages, then select Resume. Next retry in ${aboutText(Math.max(0, set_aside.until - now))}.`;
      return `${wait} No ${hardware} runners online. Start one or resume a draining runner.`;
    case "too-small":
      return `${wait} No ${hardware} runner has ${count(gpus, "working GPU")}. Add a larger runner.`;
    case "share":
      return `${wait} ${accounts === 1 ? "An account has" : `${accounts} accounts have`} reached the share of ${hardware} per account (ACCOUNT_SHARE). It applies while others are waiting, and for 5 minutes after. Add a runner to shorten the wait.`;
    case "held":
      return `${wait} Containers of their models are starting or busy.`;
    case "reserved":
      return `${wait} ${runners} is reserved for ${jobs === 1 ? "it" : "them"} and ${freeText((free_at ?? now) - now)}.`;
    case "declined":
      return `${wait} Declined by ${runners}. Check the runner logs or add a runner.`;
    case "busy":
      return `${wait} ${busyText(explanation, runners)}. ${helpText(explanation)}`;
  }
}

function busyText(
  { gpus, boxes, box_gpus, used_gpus }: NamedClassExplanation,
  kept: string,
): string {
  const others = kept === "" ? "" : `, and ${kept} is reserved for other predictions`;
  if (gpus === 0)
    return `${boxes === 1 ? "The only runner is busy" : `All ${count(boxes, "runner")} are busy`}${others}`;
  const used = `${used_gpus} of ${count(box_gpus, "GPU")} busy`;
  if (used_gpus < box_gpus && kept === "")
    return `No runner has a free slot and ${count(gpus, "free GPU")} (${used})`;
  if (used_gpus < box_gpus) return `${kept} is reserved for other predictions (${used})`;
  return `${box_gpus === 1 ? "The only GPU is busy" : `All ${count(box_gpus, "GPU")} are busy`}${others}`;
}

const helpText = ({ lacks_slots }: NamedClassExplanation): string =>
  lacks_slots
    ? "A container has capacity, but its runner has no free slot. Increase --slots or add a runner."
    : "Add a runner to shorten the wait.";

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
      return `No ${hardware} runners available. ${help("Start one, or resume one that is draining or paused.", "one")}`;
    case "too-small":
      return `No ${hardware} runner has ${count(gpus, "working GPU")}. ${help("Add a larger runner.", "a larger one, or publish a version for other hardware")}`;
    case "share":
      return isOne
        ? `Its account has reached the share of ${hardware} per account. It starts as other runs of the account end.`
        : `Their accounts have reached the share of ${hardware} per account. They start as other runs of the same account end.`;
    case "held":
      return "A container of the model is starting or busy, and will be available sooner than a new one. If the model can run several predictions at a time, publish a version with a higher `max_concurrency`.";
    case "reserved":
      return isOne
        ? "A busy runner is reserved for it and accepts no other work."
        : "Busy runners are reserved for them and accept no other work.";
    case "declined":
      return `Every ${hardware} runner has declined ${isOne ? "it" : "them"}. ${help("Check the runners’ logs.", "the runners’ logs")}`;
    case "busy":
      return `All ${hardware} runners are busy. ${help("Add a runner to shorten the wait.", "another runner if this persists")}`;
  }
}
