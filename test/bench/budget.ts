/** A no-op prediction of an account with a hard budget, next to one of an account without: in turn. */
import { Client } from "../../src/dev/client.ts";
import { seed } from "../../src/dev/seed.ts";
import { budget } from "../../src/protocol/budget.ts";
import { DEFAULT_HARDWARE, hardware } from "../../src/protocol/hardware.ts";
import { type Bed, noop } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { inTurn, round, typical } from "./round.ts";
import { ms, type Table, times, type Verdict } from "./table.ts";

/** Requests of a round by concurrency, as in latency.ts. */
const REQUESTS = { 1: 40, 8: 120, 32: 192 };
const MOST_TIME = 1.25;
const NAME = "budgeted";

/** Gives hardware a price, and returns the client of another account that has a budget for it. */
export async function budgetedClient({ operator, deployment }: Bed): Promise<Client> {
  const price = { name: DEFAULT_HARDWARE, price_per_hour: "1" };
  await operator.call(hardware, "PUT", `/operator/hardware/${DEFAULT_HARDWARE}`, { body: price });
  const { token } = await seed(operator, NAME);
  const client = new Client(deployment.url, token);
  const body = { limit: "1000000", window: "month" };
  await client.call(budget, "POST", "/budgets", { body });
  return client;
}

export async function measureBudget(bed: Bed, effort: Effort): Promise<Table> {
  const clients = [await budgetedClient(bed), bed.client];
  const calls = clients.map((client) => () => noop(client));
  for (const call of calls) await round(call, 32, 4 * REQUESTS[32] * effort.requests);
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
  for (const at of [1, 8, 32] as const) {
    const sides = calls.map((call) => () => round(call, at, REQUESTS[at] * effort.requests));
    const [budgeted = [], plain = []] = await inTurn(effort.rounds, ...sides);
    const [value, least] = [typical(budgeted, "latency"), typical(plain, "latency")];
    rows.push([String(at), ms(value), ms(least), times(value / least)]);
    const what = `time of a budgeted no-op at ${at}`;
    verdicts.push({ what, value: value / least, bound: { most: MOST_TIME } });
  }
  return {
    title: "A no-op prediction of an account with a hard budget (Prefer: wait, warm container)",
    head: ["at a time", "with a budget", "without", "ratio"],
    rows,
    notes: ["with a budget, the account reserves before the job is offered"],
    verdicts,
  };
}
