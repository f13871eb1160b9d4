/** Facts about a model's runs in the header of its page. */
import { describe, expect, it } from "vitest";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { newModel, publish, referenceOf } from "../support/catalogue.ts";
import { newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { textOf } from "../support/page-text.ts";
import { signedUp, Visitor } from "../support/visitor.ts";
import { newWorld, operator, unique, type World } from "../support/world.ts";

const headOf = async (world: World, visitor = new Visitor()) =>
  textOf((await visitor.look(`/models/${world.model}`)).html);

/** A world with a runner whose container has run once, and the times that the runner measured. */
async function warmWorld(isolation: "model" | "account" = "model") {
  const world = await newWorld({ visibility: "public", configuration: { isolation } });
  const { hardware: name } = world;
  await operator.put(`/v1/operator/hardware/${name}`, { name, price_per_hour: 3.6 });
  const runner = await world.runner(2);
  await world.waiting();
  const { keys } = await runner.take();
  const measured = [{ key: keys.container, setup_ms: 42_000, run_ms: 2_500 }];
  await runner.tellState({ warm: [keys.container], measured });
  return { world, runner, keys, measured };
}

it("a container that is ready is warm, with the time and cost of a run", async () => {
  const { world } = await warmWorld();
  expect(await headOf(world)).toMatch(
    /Warm Average run time: 2\.5 s ~\$0\.0025 per run Hardware: hw/,
  );
});

it("each page of the model shows the same facts", async () => {
  const { world } = await warmWorld();
  const head = /Warm Average run time: 2\.5 s ~\$0\.0025 per run Hardware: \S+/;
  const on = async (page: string) =>
    textOf((await new Visitor().look(`/models/${world.model}${page}`)).html).match(head)?.[0];
  const told = await on("");
  expect(told).toBeDefined();
  for (const page of ["/examples", "/overview", "/api", "/versions", "/versions/1"])
    expect([page, await on(page)]).toEqual([page, told]);
});

it("a model is at capacity once its container and its runner's slots are taken, not before", async () => {
  const { world, runner, keys } = await warmWorld();
  const { hardware } = world;
  const full = readyContainer({ key: keys.container, max_concurrency: 1, users: 1, hardware });
  await runner.tellState({ containers: [full] });
  expect(await headOf(world)).toContain("Cold start ~42 s");
  await runner.tellState({ containers: [full], max_containers: 1 });
  expect(await headOf(world)).toContain("At capacity New runs are queued");
});

it("a run without a container waits as long as a start has taken", async () => {
  const { world, runner } = await warmWorld();
  await runner.tellState({ warm: [] });
  expect(await headOf(world)).toContain("Cold start ~42 s");
});

it("a drained fleet promises no start", async () => {
  const { world, runner } = await warmWorld();
  await operator.post(`/v1/operator/runners/${runner.id}/drain`, {});
  expect(await headOf(world)).toContain("Offline No runners available");
});

it("containers of one account show nothing to others", async () => {
  const stranger = await signedUp();
  const { world } = await warmWorld("account");
  for (const visitor of [new Visitor(), stranger.visitor]) {
    const head = await headOf(world, visitor);
    expect(head).toContain("Cold start");
    expect(head).not.toContain("Average run time");
  }
});

describe("waiting predictions of a model", () => {
  const read = async (somebody: Visitor, model: string) =>
    textOf((await somebody.look(`/models/${model}`)).html);

  /** Two predictions of a user's public model, for hardware that no runner serves. */
  async function waiting() {
    const { client, visitor } = await newDashboardUser();
    const hardware_identifier = unique("hw");
    await operator.put(`/v1/operator/hardware/${hardware_identifier}`, { name: "Box" });
    const made = await newModel(client, { visibility: "public", hardware_identifier });
    const model = referenceOf(made);
    await publish(client, model);
    for (const _ of [1, 2]) await client.create({ model, input: {} });
    await eventually(async () =>
      expect(await read(visitor, model)).toContain("2 predictions queued"),
    );
    return { model, visitor };
  }

  it("an owner reads how many wait, why, and whom to ask for help", async () => {
    const { model, visitor } = await waiting();
    expect(await read(visitor, model)).toMatch(
      /\(longest .*No hw-\S+ runners available\. Ask an operator for one\./,
    );
  });

  it("an operator reads how many wait and what to do, and other users do not", async () => {
    const { model } = await waiting();
    const [boss, stranger] = await Promise.all([newOperator(), newDashboardUser()]);
    expect(await read(boss.visitor, model)).toMatch(/2 predictions queued.*Start one, or resume/);
    for (const visitor of [stranger.visitor, new Visitor()])
      expect(await read(visitor, model)).not.toMatch(/predictions? queued/);
  });
});

it("a pool that was never used is not asked", async () => {
  const world = await newWorld({ visibility: "public" });
  const { html } = await new Visitor().look(`/models/${world.model}`);
  expect(textOf(html)).not.toMatch(/Cold|Warm/);
  expect(textOf(html)).toContain("Offline No runners available");
});
