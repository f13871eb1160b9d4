/** The API's names for the reasons of a pool. */
import type { ReasonCode } from "../../protocol/explanation.ts";
import type { ClassReason } from "./decide/explain-class.ts";

export const REASON_CODES: Record<ClassReason["why"], ReasonCode> = {
  "no-box": "no_runner",
  "too-small": "too_small",
  share: "account_share",
  held: "held",
  reserved: "reserved",
  declined: "declined",
  busy: "busy",
};
