/** What is done when a deadline has come. What it is about, domain/predictions/deadlines.ts says. */
import type { Deadline } from "../../domain/predictions/deadlines.ts";
import type { Attempts } from "./attempts.ts";
import { cancel } from "./cancel.ts";
import type { Effects } from "./effects.ts";
import type { PredictionRecord } from "./record.ts";

/** What takes time to meet, and the end of what is kept, is the object's own. */
type What = Exclude<Deadline["kind"], "retention" | "forget" | "token" | "second">;

export function handleDeadline(
  record: PredictionRecord,
  what: What,
  now: number,
  effects: Effects,
  attempts: Attempts,
): void {
  const { life } = record;
  const { spec } = life;
  switch (what) {
    case "wait":
      cancel(record, effects, "the wait that its creator allowed is over");
      return;
    case "redispatch":
      return effects.dispatch(record, now);
    case "connect":
      life.expireHandout(now);
      return effects.dispatch(record, now);
    case "missed": {
      const attempt = life.expireDismissed();
      if (attempt) effects.tellUnheard(record, attempt);
      break;
    }
    case "lease":
      return attempts.leaseEnded(record, now);
    case "queue":
      life.fail(
        "internal",
        `No runner of hardware '${spec.hardware}' took it within ${spec.queue_timeout_seconds} s.`,
        now,
      );
      break;
    case "setup":
      life.fail(
        "external",
        `The container was not ready within ${spec.setup_timeout_seconds} s.`,
        now,
      );
      break;
    case "run":
      life.fail("external", `The model did not finish within ${spec.timeout_seconds} s.`, now);
      break;
    case "webhooks":
      return effects.deliver(record, now);
    case "cancel":
      life.enforceCancel(now);
  }
  effects.commit(record);
}
