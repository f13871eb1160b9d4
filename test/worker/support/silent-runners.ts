/** Pages of a runner that has become silent. */
import { expect } from "vitest";
import type { RunnerDetail } from "../../../src/protocol/fleet.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { textOf } from "./page-text.ts";
import type { FakeRunner } from "./runner.ts";
import type { Visitor } from "./visitor.ts";
import { newWorld, operator } from "./world.ts";

export const detail = ({ id }: FakeRunner) =>
  operator.ok<RunnerDetail>("GET", `/v1/operator/runners/${id}`);

/** Returns the text of the runner's page. */
export async function lookAt(visitor: Visitor, { id }: FakeRunner) {
  const { status, html } = await visitor.look(`/fleet/runners/${id}`);
  expect(status).toBe(200);
  return textOf(html);
}

/** Makes a runner with one prediction in its only container. */
export async function busy() {
  const world = await newWorld();
  const { id, job, runner } = await world.begun();
  const { container: key } = job.keys;
  await runner.tell({ running: [id] });
  await runner.tellState({
    free: 0,
    containers: [readyContainer({ key, users: 1, idle_ms: null })],
    devices: [{ id: "GPU-1", name: "NVIDIA L40S", memory_gb: 45, holder: "c1" }],
  });
  return { world, id, runner };
}
