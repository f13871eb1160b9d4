/** Budgets, prices, and runs that say what the next will cost. */
import { expect } from "vitest";
import type { Budget } from "../../../src/protocol/budget.ts";
import { amountOf } from "../../../src/protocol/money.ts";
import type { Client } from "./client.ts";
import { inAccount } from "./objects.ts";
import { operator, type World } from "./world.ts";

/** Sets the price of a world's hardware. @param pricePerHour "3600" is one unit a second */
export async function setPrice({ hardware }: World, pricePerHour: string): Promise<void> {
  const body = { name: hardware, price_per_hour: pricePerHour };
  await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, body);
}

/** Creates a budget. Without a window it never resets. */
export const newBudget = (client: Client, request: object): Promise<Budget> =>
  client.ok<Budget>("POST", "/v1/budgets", { window: "total", ...request });

/** Deletes the budgets at an address that its caller has set. */
export async function removeBudgets(client: Client, path = "/v1/budgets"): Promise<void> {
  const { items } = await client.ok<{ items: Budget[] }>("GET", path);
  const own = items.filter(({ set_by }) => (set_by === "operator") === path.includes("/operator/"));
  for (const { id } of own) await client.ok("DELETE", `${path}/${id}`);
}

export const listBudgets = async (client: Client): Promise<Budget[]> =>
  (await client.ok<{ items: Budget[] }>("GET", "/v1/budgets")).items;

/** Lets the world's account have run its model before, each time for this cost. */
export async function ranBefore(world: World, runs: number, cost: string): Promise<void> {
  const id = await world.waiting();
  await world.client.cancel(id);
  await inAccount(
    world.user_id,
    `INSERT INTO predictions (id, object_id, model_id, model_owner, model_name, version_number, stream, status,
        created_at, updated_at, cost, data_removed, revision, hardware)
      SELECT substr(p.id, 1, 14) || value, object_id, model_id, model_owner, model_name, version_number, stream,
        'succeeded', created_at, updated_at, ?, 1, revision, hardware
      FROM predictions AS p, json_each(?) WHERE p.id = ?`,
    amountOf(cost) ?? expect.fail("no amount"),
    JSON.stringify(Array.from({ length: runs }, (_, n) => String(n).padStart(22, "0"))),
    id,
  );
}
