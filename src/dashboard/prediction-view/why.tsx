/** Why a prediction does not run yet, in words. Its setup has a place of its own, with a bar. */
import type { Explanation, ReasonCode } from "../../protocol/explanation.ts";
import { duration } from "./duration.ts";

/** Most predictions start sooner: the text would only flash. */
const SHOWN_AFTER_MS = 2_000;

const SET_UP: readonly ReasonCode[] = ["pulling", "starting"];

/** A part of the view: client code fetches it again while there is anything in it. */
export const Why = ({ explanation }: { explanation: Explanation | undefined }) => (
  <div data-part="why">{explanation?.reason && <Words explanation={explanation} />}</div>
);

function Words({ explanation: { reason, starts_in, since } }: { explanation: Explanation }) {
  if (!reason) return null;
  const isLate = Date.now() - Date.parse(since ?? "") > SHOWN_AFTER_MS;
  const texts = SET_UP.includes(reason.code)
    ? reason.stopped.map((model) => `${model} was stopped to make room.`)
    : [reason.message];
  if (starts_in) texts.push(rangeText(starts_in));
  return (
    <p class={isLate ? "hint" : "hint shown-after-2-s"} data-why>
      {texts.join(" ")}
    </p>
  );
}

function rangeText({ p10_seconds, p90_seconds }: NonNullable<Explanation["starts_in"]>): string {
  if (p90_seconds === 0) return "That takes longer than expected.";
  return `Expected to run in ${duration(p10_seconds)} to ${duration(p90_seconds)}.`;
}
