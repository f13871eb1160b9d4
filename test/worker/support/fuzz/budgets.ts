/** Budgets for random requests. */
import { budget } from "../../../../src/protocol/budget.ts";
import type { Caller, Callers } from "./callers.ts";
import type { Place } from "./harvest.ts";

/** Sends a request, and returns the answer if it succeeded. */
type Make = (
  method: string,
  path: string,
  body: object,
  options?: { by?: Caller; known?: Place; prefer?: string },
) => Promise<{ text: string } | undefined>;

/**
 * Makes budgets, of the user and of an operator. The first one refuses a run, and then only alerts.
 * @param runs the address that runs a priced version
 */
export async function makeBudgets(
  make: Make,
  { operator }: Callers,
  username: string,
  runs: string,
): Promise<void> {
  const hard = await make("POST", "/budgets", { limit: 0, window: "total" });
  await make("POST", runs, { input: { text: "a" } }, { prefer: "wait=0" });
  const id = hard && budget.parse(JSON.parse(hard.text)).id;
  if (id) await make("PATCH", `/budgets/${id}`, { kind: "alert" });
  const path = `/operator/users/${username}/budgets`;
  const alert = { limit: 1, window: "day", kind: "alert" };
  await make("POST", path, alert, { by: operator, known: { username } });
}
