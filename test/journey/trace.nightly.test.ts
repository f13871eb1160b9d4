/** A trace of jobs through workerd and real runners: each job goes where the hand-out's rules say. */
import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { pageOf } from "../../src/protocol/common.ts";
import { queueState } from "../../src/protocol/fleet.ts";
import { randomOf } from "../simulate/trace.ts";
import { CLASSES, GpuWorld, POOL, type Told } from "./support/gpus.ts";
import { type Choice, type Model, ShadowPool } from "./support/shadow-pool.ts";

/** The number of GPUs of each box. */
const BOXES = { large: 4, small: 2 };
const JOBS = 20;
/** The most choices that may differ from the shadow's because of how many milliseconds setups took. */
const MOST_NEAR = 3;

const MODELS: Model[] = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) =>
  n === 3
    ? { name: "wide", hardware: "l40s-x4", gpus: 4 }
    : { name: `m${n}`, hardware: "l40s", gpus: 1 },
);

let gpus: GpuWorld;

beforeAll(async () => {
  gpus = await GpuWorld.open(
    Object.fromEntries(MODELS.map(({ name, hardware }) => [name, { hardware }])),
  );
});
afterAll(() => gpus.world.close());

it("a real pool makes the choices of a shadow that decides by the same rules", async () => {
  for (const [name, count] of Object.entries(BOXES)) await gpus.box(name, { gpus: count });
  const shadow = new ShadowPool(BOXES, Object.keys(CLASSES));
  const random = randomOf(7);
  let near = 0;
  const kinds = new Set<string>();
  for (let n = 0; n < JOBS; n++) {
    await allRest();
    const model = MODELS[random.weighted(MODELS.map((_, rank) => 1 / (rank + 1)))];
    if (!model) throw new Error("no model");
    const watch = await gpus.world.create(model.name, { ms: 10 });
    const told = await gpus.succeeds(watch, model.gpus);
    const choice = choiceOf(told, shadow);
    const { wanted, isNear } = shadow.decide(model, choice);
    kinds.add(kindOf(choice));
    if (isNear && !isDeepStrictEqual(choice, wanted)) near += 1;
    else expect([n, model.name, choice]).toEqual([n, model.name, wanted]);
    const { setup_time } = await gpus.world.get(watch.id);
    const setupMs = choice.joined === undefined ? Number(setup_time) * 1_000 : undefined;
    shadow.ran(model, told.pid, choice, setupMs);
  }
  expect(near).toBeLessThanOrEqual(MOST_NEAR);
  expect([...kinds].toSorted()).toEqual(["joins", "starts", "swaps"]);
});

/** Waits until the pool knows from the runners' reports that all their slots are idle. */
async function allRest(): Promise<void> {
  const slots = Object.values(BOXES).reduce((sum, count) => sum + count);
  await vi.waitFor(async () => {
    const page = pageOf(queueState);
    const { items } = await gpus.world.operator.call(page, "GET", "/operator/queues");
    const queue = items.find(({ hardware }) => hardware === POOL);
    expect(queue).toMatchObject({ free: slots });
  }, 5_000);
}

function choiceOf({ pid, directory }: Told, shadow: ShadowPool): Choice {
  const box = Object.keys(BOXES).find((name) => directory.includes(`${name}-models-`));
  if (box === undefined) throw new Error(`which box is ${directory}?`);
  const known = shadow.processes;
  return {
    box,
    joined: known.includes(pid) ? pid : undefined,
    stopped: known.filter((one) => !existsSync(`/proc/${one}`)),
  };
}

const kindOf = ({ joined, stopped }: Choice): string =>
  joined !== undefined ? "joins" : stopped.length > 0 ? "swaps" : "starts";
