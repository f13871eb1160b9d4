/** Texts on why predictions of a model wait, and what would help. For its owner and for operators. */
import { count } from "../../lib/text.ts";
import type { SomeReason } from "./decide/explain-some.ts";

/** @param isOperator whether the reader can change the fleet */
export function modelWaitText(
  { why, hardware, gpus, jobs }: SomeReason,
  isOperator: boolean,
): string {
  const isOne = jobs === 1;
  const help = (own: string, ask: string) => (isOperator ? own : `Ask an operator for ${ask}.`);
  switch (why) {
    case "no-box":
      return `No runner of ${hardware} is taking work. ${help("Start one, or resume one that is drained or set aside.", "one")}`;
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
