/** Claims of deployments for containers of a runner. */
import type { CapacityClaim } from "../../../src/objects/stubs/pool.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { timersFollowClock } from "./hold-timers.ts";
import { lineOf } from "./pool.ts";
import type { FakeRunner } from "./runner.ts";
import { newWorld, type World } from "./world.ts";

export const claimOf = (
  world: World,
  job: Job,
  changes: Partial<CapacityClaim> = {},
): CapacityClaim => ({
  deployment_id: "deployment",
  release: 1,
  owner_id: world.user_id,
  hardware: world.hardware,
  gpus: 0,
  container_key: job.keys.container,
  min: 1,
  max: null,
  ...changes,
});

/** Returns a world, and a job that has run there, for the key of its containers. */
export async function claimedWorld() {
  const world = await newWorld({ input: { type: "object", required: ["prompt"] } });
  timersFollowClock();
  const runner = await world.runner(2);
  await world.waiting({ prompt: "a" });
  await lineOf(world, 1);
  const { job, channel } = await runner.work();
  await channel.succeed("b");
  await runner.tellState({ jobs: [], containers: [] });
  return { world, runner, job };
}

export const containerOf = (world: World, job: Job, name: string) =>
  readyContainer({ name, key: job.keys.container, hardware: world.hardware });

/** Reports an idle container of the job's key, and others. @returns the names that the runner keeps */
export const told = async (
  runner: FakeRunner,
  ...containers: ReturnType<typeof readyContainer>[]
) => (await runner.tellState({ jobs: [], containers })).body.keep;
