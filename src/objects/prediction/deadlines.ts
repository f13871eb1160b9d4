/** The work of each deadline that has passed. Times of deadlines are in domain/predictions/deadlines.ts. */
import type { Deadline } from "../../domain/predictions/deadlines.ts";
import { cancel } from "./alarm.ts";
import type { Effects } from "./effects.ts";
import type { PredictionRecord } from "./record.ts";
import type { RunnerConnection } from "./runner-connection.ts";

/** All deadlines but those that need asynchronous work: object.ts handles these itself. */
type Kind = Exclude<Deadline["kind"], "retention" | "forget" | "token" | "second">;

export function handleDeadline(
  record: PredictionRecord,
  kind: Kind,
  now: number,
  effects: Effects,
  connection: RunnerConnection,
): void {
  const { life } = record;
  const { hardware, queue_timeout_seconds, setup_timeout_seconds, timeout_seconds } = life.spec;
  switch (kind) {
    case "wait":
      cancel(record, effects, "the wait its caller allowed is over");
      return;
    case "caller":
      cancel(record, effects, "its caller has disconnected");
      return;
    case "redispatch":
      return effects.dispatch(record, now);
    case "connect":
      life.expireHandout(now);
      return effects.dispatch(record, now);
    case "missed": {
      const attempt = life.expireDismissed();
      if (attempt) effects.reportMissed(record, attempt);
      break;
    }
    case "lease":
      return connection.leaseExpired(record, now);
    case "queue":
      life.fail(
        "internal",
        `No runner with hardware '${hardware.identifier}' took it within ${queue_timeout_seconds} s.`,
        now,
      );
      break;
    case "setup":
      life.fail("external", `The container was not ready within ${setup_timeout_seconds} s.`, now);
      break;
    case "run":
      life.fail("external", `The model did not finish within ${timeout_seconds} s.`, now);
      break;
    case "webhooks":
      return effects.deliver(record, now);
    case "cancel":
      life.enforceCancel(now);
  }
  effects.commit(record);
}
