/**
 * How many read large predictions at a time: each has a row of the log in memory, keeps the object awake,
 * and may be slow.
 */
import { CHECK_MS } from "../../domain/accounts/access-checks.ts";
import { OpenRequest } from "../../domain/accounts/open-requests.ts";

/** Of one account, in one isolate, whose objects share 128 MB: a row takes up to 1.2 MB. */
const MAX_READS = 50;

/** @returns ends it; undefined when the account has as many as it may */
export function enterContent(userId: string): (() => void) | undefined {
  const entered = OpenRequest.enter(`contents of ${userId}`, MAX_READS);
  if (!entered) return undefined;
  // Nobody would end those of an object that has died.
  entered.renew();
  const renewing = setInterval(() => entered.renew(), CHECK_MS);
  return () => {
    clearInterval(renewing);
    entered.leave();
  };
}
