/**
 * The pace of a runner's reports: frames are frequent only while somebody watches. Each frame costs a message
 * and a part of a row.
 */

/** A pace that looks continuous. */
const READ_MS = 30;
/** `output` webhooks come at most every 500 ms. */
const WEBHOOK_MS = 250;
const UNREAD_MS = 1_000;

/**
 * The shortest time between two frames of a run, ms.
 * @param read whether somebody reads its stream
 * @param wantsOutput whether output is sent to a webhook as it comes
 */
export function paceOf(read: boolean, wantsOutput: boolean): number {
  if (read) return READ_MS;
  return wantsOutput ? WEBHOOK_MS : UNREAD_MS;
}
