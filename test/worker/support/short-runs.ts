/** Short runs whose callers wait for them. */
import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { Job } from "../../../src/protocol/runner.ts";
import { eventually } from "./eventually.ts";
import type { FakeRunner } from "./runner.ts";
import { withoutTimers } from "./time.ts";
import type { World } from "./world.ts";

export const WAIT = { prefer: "wait=20" };
export const FRAME = {
  type: "events",
  seq: 1,
  events: [{ event: "output", data: "hi" }],
  finish: { status: "succeeded", output: "value" },
};

/** Returns a runner whose poll already waits for the next job. */
export async function waitingRunner(world: World) {
  const runner = await world.runner();
  const polling = runner.take();
  await eventually(async () => expect((await statusOf(world)).free).toBe(1));
  return { runner, polling };
}

export const bodyOf = ({ model }: World) => ({ model, input: {} });

export const createWith = (world: World) => world.client.create(bodyOf(world), WAIT);

export const statusOf = ({ hardware }: World) => env.POOL.getByName(hardware).status();

export const reportTo = (runner: FakeRunner, { lease }: Job, frame: object = FRAME) =>
  runner.report(lease, frame);

/** Returns a short run, which ends before any timer does, however slow the machine is. */
export async function shortRun(world: World) {
  const { runner, polling } = await waitingRunner(world);
  return withoutTimers(async () => {
    const creating = createWith(world);
    await reportTo(runner, await polling);
    return (await creating).body;
  });
}

/** Returns the prediction objects that `act` has made. */
export async function objectsOf<T>(act: () => Promise<T>) {
  const before = (await listDurableObjectIds(env.PREDICTION)).map(String);
  const result = await act();
  const ids = await listDurableObjectIds(env.PREDICTION);
  const made = ids.filter((id) => !before.includes(String(id)));
  return { result, objects: made.map((id) => env.PREDICTION.get(id)) };
}
