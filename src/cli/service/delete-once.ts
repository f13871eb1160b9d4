/** A delete whose answer was lost is sent again: that there is nothing any more is then what was wanted. */
import { statusOf } from "../../../runner/src/control-plane/error.ts";

type Send = () => Promise<unknown>;

/** @param retried sends it, and again where that may help */
export async function deleteOnce(send: Send, retried: (send: Send) => Promise<unknown>) {
  let mayBeDone = false;
  const watched = () =>
    send().catch((error: unknown) => {
      mayBeDone ||= (statusOf(error) ?? 500) >= 500;
      throw error;
    });
  await retried(watched).catch((error: unknown) => {
    if (!mayBeDone || statusOf(error) !== 404) throw error;
  });
}
