/** Estimates of runs, and the runs that they are made from. */
import { expect } from "vitest";
import type { Estimate } from "../../../src/protocol/estimate.ts";
import type { Metrics } from "../../../src/protocol/event.ts";
import type { Client } from "./client.ts";
import { eventually } from "./eventually.ts";
import { rowOf } from "./objects.ts";
import { advance } from "./time.ts";
import { operator, type World } from "./world.ts";

export const AT = "/v1/predictions/estimate";

export const estimateOf = (by: Client, model: string, more: object = {}) =>
  by.ok<Estimate>("POST", AT, { model, input: {}, ...more });

/** Sets the price of the hardware: 0.001 a second by default. */
export const setPrice = ({ hardware }: World, price_per_hour: string | null = "3.6") =>
  operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: hardware, price_per_hour });

/** Runs the model once for each of these times, in seconds. */
export async function runs(world: World, times: number[], metrics?: Metrics): Promise<void> {
  const runner = await world.runner();
  for (const run_seconds of times) {
    const id = await world.waiting();
    const { channel } = await runner.work();
    advance(run_seconds);
    await channel.report(metrics ? [{ event: "metrics", data: metrics }] : [], {
      ...{ status: "succeeded", output: "none", execution_seconds: run_seconds },
      billable: { run_seconds, setup_seconds: 0 },
    });
    await eventually(async () => expect((await rowOf(id))?.status).toBe("succeeded"));
  }
}

export const created = async (by: Client, model: string, input = {}) =>
  (await by.create({ model, input })).body.id;
