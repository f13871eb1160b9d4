/** The predictions that random requests leave under way. */
import { env, exports } from "cloudflare:workers";
import { ORIGIN } from "../client.ts";
import { keepUp } from "../objects.ts";
import { allPredictions } from "../state.ts";
import { advance, startClock, stopClock } from "../time.ts";
import type { Callers } from "./callers.ts";

/** Predictions under way, by the indexes of the accounts, which follow the objects. */
export const waiting = async () =>
  (await allPredictions()).filter(({ status }) => status === "pending" || status === "started");

/** Cancels all predictions under way. A row may arrive after its caller has left, so the list is read each time. */
export async function endAll(callers: Callers): Promise<void> {
  for (const { id } of await waiting())
    for (const { authorization = "" } of [callers.user, callers.stranger])
      await exports.default.fetch(`${ORIGIN}/v1/predictions/${id}/cancel`, {
        method: "POST",
        headers: { authorization },
      });
}

/**
 * After this time the accounts check rows that lag, as they do after five minutes. Rows lag because a workerd
 * that is never idle fires no timer: the 20 ms before a final row last for minutes, and then it evicts
 * objects that were not called for 10 s before it goes on with them.
 */
export const LAG_MS = 15_000;

export async function lookAfterRows(): Promise<void> {
  const { results } = await env.DB.prepare(
    "SELECT id FROM users WHERE account_object IS NOT NULL",
  ).all<{ id: string }>();
  stopClock();
  advance(301);
  for (const { id } of results) await keepUp(id);
  startClock();
}
