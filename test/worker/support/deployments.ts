/** Deployments of tests. */
import { expect } from "vitest";
import type { ChangedDeployment, Deployment } from "../../../src/protocol/deployment.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { publish } from "./catalogue.ts";
import type { Client } from "./client.ts";
import { eventually } from "./eventually.ts";
import { inAccount } from "./objects.ts";
import type { FakeRunner } from "./runner.ts";
import { newWorld, operator, unique, type World } from "./world.ts";

/** Creates a deployment of the client's account. */
export const newDeployment = (
  client: Client,
  body: { model: string; name?: string; [field: string]: unknown },
): Promise<ChangedDeployment> =>
  client.ok<ChangedDeployment>("POST", "/v1/deployments", { name: unique("deployment"), ...body });

/** Returns a world with a runner, whose account may keep containers running. */
export async function grantedWorld(instances = 4) {
  const world = await newWorld();
  await publish(world.client, world.model);
  const { username, hardware } = world;
  await operator.ok("PUT", `/v1/operator/users/${username}/capacity/${hardware}`, { instances });
  const runner = await world.runner(4);
  await runner.tellState({ jobs: [], containers: [] });
  return { world, runner };
}

export const at = ({ owner, name }: Pick<Deployment, "owner" | "name">, more = "") =>
  `/v1/deployments/${owner}/${name}${more}`;

/** Takes the next start of a container, and ends it. */
export async function starts(runner: FakeRunner, failure?: string) {
  const job = await runner.take();
  const channel = await runner.connect(job);
  if (failure === undefined) {
    await channel.report([{ event: "setup", data: { phase: "ready" } }]);
    await channel.report([], { status: "succeeded", output: "none" });
  } else {
    const error = { source: "external" as const, message: failure };
    await channel.report([], { status: "failed", output: "none", error });
  }
  return job;
}

export const numbersOf = ({ current_release, next_release }: Deployment) => [
  current_release?.number ?? null,
  next_release?.number ?? null,
];

/** Waits until these releases run and start. */
export const reaches = (
  { client }: World,
  made: Deployment,
  current: number | null,
  next: number | null,
) =>
  eventually(async () => {
    const deployment = await client.ok<Deployment>("GET", at(made));
    expect(numbersOf(deployment)).toEqual([current, next]);
    return deployment;
  });

/** Creates a deployment that keeps a container running, which has started. */
export async function newStarted(changes: object = {}) {
  const { world, runner } = await grantedWorld();
  const { client, model } = world;
  const made = await newDeployment(client, { model, version: 1, min_instances: 1, ...changes });
  const job = await starts(runner);
  await reaches(world, made, 1, null);
  const container = (key: string, name: string) =>
    readyContainer({ name, key, hardware: world.hardware });
  await runner.tellState({ jobs: [], containers: [container(job.keys.container, "one")] });
  return { world, runner, made, job, container };
}

export const startsOf = ({ user_id }: World) =>
  inAccount(user_id, "SELECT id FROM predictions WHERE token_id = 'warm_up'");

/** Returns a deployment of a model, with another model of the same class as its fallback. */
export async function twoVersions() {
  const world = await newWorld();
  const other = `${world.username}/other`;
  await world.client.ok("POST", "/v1/models", {
    name: "other",
    hardware_identifier: world.hardware,
  });
  await world.client.ok("POST", `/v1/models/${other}/versions`, {
    release_notes: "",
    container_image_digest: `sha256:${"b".repeat(64)}`,
    schemas: { prediction: { input: {}, output: {} } },
  });
  const fallbacks = [{ model: other, after_seconds: 5 }];
  const made = await newDeployment(world.client, { model: world.model, fallbacks });
  const model = `${world.username}/${made.name}`;
  const create = async () => (await world.client.create({ model, input: {} })).body.id;
  return { world, made, create };
}
