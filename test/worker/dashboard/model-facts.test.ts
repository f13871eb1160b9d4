/** What the header of a model's page tells of its runs. */
import { expect, it } from "vitest";
import { textOf } from "../support/page-text.ts";
import { signedUp, Visitor } from "../support/visitor.ts";
import { newWorld, operator, type World } from "../support/world.ts";

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
  return { world, runner, measured };
}

it("a container that is ready is warm, with what a run takes and costs", async () => {
  const { world } = await warmWorld();
  expect(await headOf(world)).toMatch(
    /Now Warm starts at once A run takes about 2\.5 s A run costs about 0\.0025 Runs so far \d/,
  );
});

it("once it is gone, a run waits as long as a start has taken", async () => {
  const { world, runner } = await warmWorld();
  await runner.tellState({ warm: [] });
  expect(await headOf(world)).toContain("Now Cold starts in about 42 s");
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

it("a pool that nobody has used is not asked", async () => {
  const world = await newWorld({ visibility: "public" });
  const head = await headOf(world);
  expect(head).not.toMatch(/Cold|Warm/);
  expect(head).toContain("Runs so far 0");
});
