/** What the header of a model's page tells of its runs. */
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

/** A world with a runner whose container has run once, and what that container is told to have taken. */
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

it("a container that is ready is warm, with what a run takes and costs", async () => {
  const { world } = await warmWorld();
  expect(await headOf(world)).toMatch(
    /Now Warm starts at once A run takes about 2\.5 s A run costs about \$0\.0025 Runs so far \d/,
  );
});

it("each page of the model tells the same", async () => {
  const { world } = await warmWorld();
  const head =
    /Now Warm starts at once .* Runs so far \d+ Container sharing Shared by all accounts/;
  const on = async (page: string) =>
    textOf((await new Visitor().look(`/models/${world.model}${page}`)).html).match(head)?.[0];
  const told = await on("");
  expect(told).toBeDefined();
  for (const page of ["/examples", "/overview", "/api", "/versions", "/versions/1"])
    expect([page, await on(page)]).toEqual([page, told]);
});

it("while others run in it, the next run waits for room", async () => {
  const { world, runner, keys } = await warmWorld();
  const { hardware } = world;
  const full = readyContainer({ key: keys.container, room: 1, users: 1, hardware });
  await runner.tellState({ containers: [full] });
  expect(await headOf(world)).toContain("Now Busy the next run waits for room");
});

it("once it is gone, a run waits as long as a start has taken", async () => {
  const { world, runner } = await warmWorld();
  await runner.tellState({ warm: [] });
  expect(await headOf(world)).toContain("Now Cold starts in about 42 s");
});

it("where every runner is drained, no start is promised", async () => {
  const { world, runner } = await warmWorld();
  await operator.post(`/v1/operator/runners/${runner.id}/drain`, {});
  expect(await headOf(world)).toContain("Now Away a run waits until a runner takes work");
});

it("the containers of one account tell others nothing", async () => {
  const { world } = await warmWorld("account");
  const stranger = await signedUp();
  for (const visitor of [new Visitor(), stranger.visitor]) {
    const head = await headOf(world, visitor);
    expect(head).toContain("Now Cold the next run starts a container");
    expect(head).not.toContain("A run takes");
  }
});

it.each([
  ["model", "Shared by all accounts"],
  ["account", "Separate for each account"],
  ["prediction", "Separate for each prediction"],
] as const)(
  "callers see who shares a container, in the words of the overview: isolation %s",
  async (isolation, words) => {
    const world = await newWorld({ visibility: "public", configuration: { isolation } });
    expect(await headOf(world)).toContain(
      `Container sharing ${words} Network access Public internet`,
    );
  },
);

describe("how many wait, and why,", () => {
  const read = async (somebody: Visitor, model: string) =>
    textOf((await somebody.look(`/models/${model}`)).html);

  /** Two predictions of somebody's public model, for hardware that nobody serves. */
  async function waiting() {
    const { client, visitor } = await newDashboardUser();
    const hardware_identifier = unique("hw");
    await operator.put(`/v1/operator/hardware/${hardware_identifier}`, { name: "Box" });
    const made = await newModel(client, { visibility: "public", hardware_identifier });
    const model = referenceOf(made);
    await publish(client, model);
    for (const _ of [1, 2]) await client.create({ model, input: {} });
    await eventually(async () =>
      expect(await read(visitor, model)).toContain("2 predictions wait"),
    );
    return { model, visitor };
  }

  it("is on the page of the owner, with whom to ask for what would help", async () => {
    const { model, visitor } = await waiting();
    expect(await read(visitor, model)).toMatch(
      /the longest for .*No runner of hw-\S+ is taking work\. Ask an operator for one\./,
    );
  });

  it("is on an operator’s, with what to do, and on nobody else’s", async () => {
    const { model } = await waiting();
    const [boss, stranger] = await Promise.all([newOperator(), newDashboardUser()]);
    expect(await read(boss.visitor, model)).toMatch(/2 predictions wait.*Start one, or resume/);
    for (const visitor of [stranger.visitor, new Visitor()])
      expect(await read(visitor, model)).not.toMatch(/predictions? waits?/);
  });
});

it("a pool that nobody has used is not asked", async () => {
  const world = await newWorld({ visibility: "public" });
  const { html } = await new Visitor().look(`/models/${world.model}`);
  expect(textOf(html)).not.toMatch(/Cold|Warm/);
  expect(textOf(html)).toContain("Runs so far 0");
  expect(html).toMatch(/title="[^"]*up to two minutes[^"]*"><dt>Runs so far/);
});
