/** Texts for operators on why the predictions of a class wait, and what would help. */
import { aboutText, count, freeText } from "../../lib/text.ts";
import type { ClassReason } from "./decide/explain-class.ts";
import type { NamedClassExplanation, NamedRunner } from "./named-explanation.ts";

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
        return `${wait}: each runner of ${hardware} that is not drained is set aside${runnersText(set_aside.runners)}. Fix what their pages say, then select Resume; the next attempt is in ${aboutText(Math.max(0, set_aside.until - now))}.`;
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

/** @param kept runners that are kept for others */
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
