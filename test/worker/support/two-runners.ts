/** A job that two runners take, of which the first does not connect. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { eventually } from "./eventually.ts";
import { shown } from "./fleet.ts";
import type { FakeRunner } from "./runner.ts";
import { passes } from "./time.ts";
import type { World } from "./world.ts";

export const depth = (world: World) => env.POOL.getByName(world.hardware).status();

export const free = (world: World, count: number) =>
  eventually(async () => expect((await depth(world)).free).toBe(count));

export const asideUntil = async ({ id }: FakeRunner) => (await shown(id))?.set_aside_until;

/** A job that the first runner takes without a report, and the second gets 1.1 s later. */
export async function both(world: World, first: FakeRunner, second: FakeRunner) {
  const polling = first.take();
  await free(world, 1);
  const id = await world.waiting();
  const job = await polling;
  const asked = second.take();
  await free(world, 1);
  await passes(1.1, id);
  return { id, job, next: await asked };
}
