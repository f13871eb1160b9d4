/** A delete whose answer was lost is sent again: that there is nothing any more is then what was wanted. */
import { statusOf } from "../../../runner/src/control-plane/error.ts";

type Send = () => Promise<unknown>;

/** @param retried sends it, and again where that may help */
export async function deleteOnce(send: Send, retried: (send: Send) => Promise<unknown>) {
  let calls = 0;
  const counted = () => {
    calls++;
    return send();
  };
  await retried(counted).catch((error: unknown) => {
    if (calls === 1 || statusOf(error) !== 404) throw error;
  });
}
