/** A runner that is updated while it works: it is reloaded, and its next process goes on. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { docker } from "../docker/registry.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { type Boxed, openBoxed } from "./support/boxed.ts";
import { pixelsOf, SAMPLE } from "./support/duotone.ts";
import { endOf } from "./support/end.ts";
import { GpuWorld } from "./support/gpus.ts";
import type { Runner } from "./support/runner.ts";
import { uploadFile } from "./support/upload-file.ts";
import type { World } from "./support/world.ts";

describe("with processes", () => {
  let gpus: GpuWorld;

  beforeAll(async () => {
    gpus = await GpuWorld.open({ one: { hardware: "l40s" }, two: { hardware: "l40s" } });
  });
  afterEach(() => gpus.world.retireAll());
  afterAll(() => gpus.world.close());

  it("a reloaded runner finishes its running predictions, and the next process runs the waiting ones", async () => {
    const { world } = gpus;
    const old = await gpus.box("box", { gpus: 2 });
    const held = await world.create("one", { gate: "open" });
    await held.until(({ data }) => JSON.stringify(data).includes('"ready"'));
    const idle = await gpus.succeeds(await world.create("two", {}), 1);
    const next = world.update(old);
    await next.says(/another process of this runner is running/);
    await old.says(/ draining /);
    const waiting = await world.create("two", {});
    expect(old.ended).toBe(false);
    old.open("one", "open");
    await gpus.succeeds(held, 1);
    // Model processes of the process engine end with the runner's process.
    const last = await gpus.succeeds(waiting, 1);
    expect(last.pid).not.toBe(idle.pid);
    await old.ends();
    expect((await world.runnerStates()).map(({ state }) => state)).toEqual(["ready"]);
  });

  it("a second process waits, and the first goes on, until the first is reloaded", async () => {
    const { world } = gpus;
    const old = await gpus.box("box", { gpus: 1 });
    const other = old.next();
    await other.says(/another process of this runner is running/);
    await gpus.succeeds(await world.create("one", {}), 1);
    other.signal("SIGTERM");
    await other.ends();
  });
});

if (!dockerIsUp) console.log("Docker does not answer: a journey of updates is left out.");

describe.runIf(dockerIsUp)("with containers", () => {
  const MODELS = ["text-generation", "duotone"];
  let boxed: Boxed;
  let world: World;

  beforeAll(async () => {
    boxed = await openBoxed(MODELS);
    world = boxed.world;
  });
  afterEach(() => world.retireAll());
  afterAll(() => boxed.close());

  const containersOf = async ({ name }: Runner) =>
    (await docker("ps", "-q", "--filter", `label=auspex.runner=${name}`)).split("\n").sort();

  const picture = async (image: string) => {
    const colours = { dark: "#001122", light: "#ffeedd", width: 120 };
    const { output } = await endOf(
      world,
      await world.create("duotone", { image, ...colours }),
      "succeeded",
    );
    const answer = await fetch(String(output));
    return pixelsOf(Buffer.from(await answer.arrayBuffer()));
  };

  it("an update loads no idle model again", async () => {
    const old = await world.runner("boxed");
    const image = await uploadFile(world.client, SAMPLE);
    const made = await picture(image);
    const stream = await world.create("text-generation", {
      max_tokens: 400,
      seed: 7,
      delay_ms: 20,
    });
    await stream.first("output");
    const containers = await containersOf(old);
    expect(containers).toHaveLength(2);

    const next = world.update(old);
    const { output } = await endOf(world, stream, "succeeded");
    expect(output).toHaveLength(400);
    expect(stream.attempts).toHaveLength(1);
    await old.ends();
    await next.says(/adopted idle containers .*count=2/);
    // The container uploads to the port that the old process gave it.
    expect(await picture(image)).toEqual(made);
    await endOf(
      world,
      await world.create("text-generation", { max_tokens: 3, seed: 7 }),
      "succeeded",
    );
    expect(await containersOf(next)).toEqual(containers);

    const third = world.update(next);
    await third.says(/adopted idle containers .*count=2/);
    expect(await picture(image)).toEqual(made);
    expect(await containersOf(third)).toEqual(containers);

    await third.kill();
    const fourth = world.update(third);
    await fourth.says(/ registered /);
    expect(await containersOf(fourth)).toEqual([""]);
  });
});
