/**
 * How many read large predictions at a time: each has a row of the log in memory, keeps the object awake,
 * and may be slow.
 */
import { OpenRequest } from "../../domain/accounts/open-requests.ts";
import { holdForRequest } from "../../lib/current-request.ts";

/** Of one account, in one isolate, whose objects share 128 MB: a row takes up to 1.2 MB. */
const MAX_READS = 50;

/** @returns ends it; undefined when the account has as many as it may */
export function enterContent(userId: string): (() => void) | undefined {
  const entered = OpenRequest.enter(`contents of ${userId}`, MAX_READS);
  return entered && holdForRequest(entered);
}
