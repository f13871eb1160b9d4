/** Failed tries of a delivery, in words. */
import type { DeliveryAttempt } from "../../protocol/webhook.ts";

/** Returns the attempts that have failed since the last success. */
export function failuresOf(attempts: DeliveryAttempt[]): DeliveryAttempt[] {
  const lastGood = attempts.findLastIndex(
    ({ duration_ms, error }) => duration_ms !== null && error === null,
  );
  return attempts.slice(lastGood + 1).filter(({ error }) => error !== null);
}

const TIMES = ["", "", " twice", " three times"];

/** `500 three times, no response`: in order, with those alike together. */
export function codes(failures: Pick<DeliveryAttempt, "status">[]): string {
  const runs: { code: string; times: number }[] = [];
  for (const { status } of failures) {
    const code = status === null ? "no response" : `${status}`;
    const last = runs.at(-1);
    if (last?.code === code) last.times += 1;
    else runs.push({ code, times: 1 });
  }
  return runs.map(({ code, times }) => code + (TIMES[times] ?? ` ${times} times`)).join(", ");
}
