/** A runner that is updated while it works: another process of it takes over, and nobody notices. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { listModels } from "../../runner/src/engines/process/model-folder.ts";
import { EXAMPLES } from "../../src/dev/examples.ts";
import { publishModel } from "../../src/dev/seed.ts";
import { docker, type Registry, startRegistry } from "../docker/registry.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { USERNAME } from "./support/access.ts";
import { pixelsOf, SAMPLE } from "./support/duotone.ts";
import { endOf } from "./support/end.ts";
import { expectNoneTwice, GpuWorld } from "./support/gpus.ts";
import type { Runner } from "./support/runner.ts";
import { uploadFile } from "./support/upload-file.ts";
import { World } from "./support/world.ts";

describe("with processes", () => {
  let gpus: GpuWorld;

  beforeAll(async () => {
    gpus = await GpuWorld.open({ one: { hardware: "l40s" }, two: { hardware: "l40s" } });
  });
  afterEach(() => gpus.world.retireAll());
  afterAll(() => gpus.world.close());

  it("its runs end where they are, and their GPUs count until then", async () => {
    const { world } = gpus;
    const old = await gpus.box("box", { gpus: 2 });
    const held = await world.create("one", { gate: "open" });
    await held.until(({ data }) => JSON.stringify(data).includes('"ready"'));
    const idle = await gpus.succeeds(await world.create("two", {}), 1);
    const next = await world.update(old);
    await old.says(/another process takes over/);
    const during = await gpus.succeeds(await world.create("two", {}), 1);
    // Its other GPU is taken: this one has to wait for it.
    const waiting = await world.create("one", {});
    const [state] = await world.runnerStates();
    expect(state?.running).toContain(held.id);
    expect(old.ended).toBe(false);
    old.open("one", "open");
    const first = await gpus.succeeds(held, 1);
    const last = await gpus.succeeds(waiting, 1);
    expect(during.pid).not.toBe(idle.pid);
    expectNoneTwice([first, idle, during, last]);
    await old.ends();
    await next.says(/the process before this one has ended/);
    expect((await world.runnerStates()).map(({ state }) => state)).toEqual(["ready"]);
  });

  it("what has not begun goes to the new process", async () => {
    const { world } = gpus;
    const old = await gpus.box("box", { gpus: 1, slots: 2 });
    const held = await world.create("one", { gate: "open" });
    await held.until(({ data }) => JSON.stringify(data).includes('"ready"'));
    const waiting = await world.create("two", {});
    await world.update(old);
    old.open("one", "open");
    await gpus.succeeds(held, 1);
    await gpus.succeeds(waiting, 1);
    await old.ends();
  });

  it("one that cannot start leaves the old one as it is", async () => {
    const { world } = gpus;
    const old = await gpus.box("box", { gpus: 1 });
    const broken = old.next({ token: "ausr_unknown" });
    await broken.says(/rejected the runner token/);
    await broken.ends();
    await gpus.succeeds(await world.create("one", {}), 1);
    const other = old.next({ environment: { AUSPEX_PRETEND_GPUS: "2" } });
    await other.says(/other settings \([^)]*pretend_gpus\)/);
    await gpus.succeeds(await world.create("one", {}), 1);
    other.signal("SIGTERM");
    await other.ends();
  });
});

if (!dockerIsUp) console.log("Docker does not answer: a journey of updates is left out.");

describe.runIf(dockerIsUp)("with containers", () => {
  const MODELS = ["story", "duotone"];
  let registry: Registry;
  let world: World;

  beforeAll(async () => {
    registry = await startRegistry();
    world = await World.open({
      variables: { IMAGE_REGISTRY: registry.host },
      publish: async (owner) => {
        for (const folder of await listModels(EXAMPLES)) {
          const { name } = folder.manifest;
          if (!MODELS.includes(name)) continue;
          const { digest } = await registry.push(name, USERNAME);
          await publishModel(owner, USERNAME, { ...folder, digest });
        }
      },
    });
  });
  afterEach(() => world.retireAll());
  afterAll(async () => {
    try {
      await world.close();
    } finally {
      await registry.stop();
    }
  });

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

  it("containers go from one process to the next, in the middle of a stream", {
    timeout: 120_000,
  }, async () => {
    const old = await world.runner("boxed");
    const image = await uploadFile(world.client, SAMPLE);
    const made = await picture(image);
    const stream = await world.create("story", { max_tokens: 400, seed: 7, delay_ms: 20 });
    await stream.first("output");
    const containers = await containersOf(old);
    expect(containers).toHaveLength(2);

    const next = await world.update(old);
    await old.says(/another process takes over/);
    // It uploads to the old process, which passes that on.
    expect(await picture(image)).toEqual(made);
    expect(stream.events.at(-1)?.event).not.toBe("done");
    const { output } = await endOf(world, stream, "succeeded");
    expect(output).toHaveLength(400);
    expect(stream.attempts).toHaveLength(1);

    await old.ends();
    await next.says(/the process before this one has ended/);
    // Nobody but the new process has the port by now.
    expect(await picture(image)).toEqual(made);
    await endOf(world, await world.create("story", { max_tokens: 3, seed: 7 }), "succeeded");
    expect(await containersOf(next)).toEqual(containers);

    const third = await world.update(next);
    await next.ends();
    await third.says(/the process before this one has ended/);
    expect(await picture(image)).toEqual(made);
    expect(await containersOf(third)).toEqual(containers);
  });

  it("what a process that was killed has left goes, and what lives stays", {
    timeout: 120_000,
  }, async () => {
    const old = await world.runner("boxed");
    await endOf(world, await world.create("story", { max_tokens: 3 }), "succeeded");
    // 80 s each: neither ends by itself while processes are started and killed.
    const long = { max_tokens: 2_000, delay_ms: 40 };
    const stream = await world.create("story", long);
    await stream.first("output");
    const next = await world.update(old);
    const other = await world.create("story", long);
    await other.first("output");
    expect(await containersOf(old)).toHaveLength(2);
    await next.kill();
    const third = await world.update(old);
    expect(await containersOf(old)).toHaveLength(1);
    expect(await world.cancel(stream.id)).toBe(202);
    await endOf(world, stream, "canceled");
    expect(stream.attempts).toHaveLength(1);
    await endOf(world, other, "failed");
    await old.ends();
    await third.says(/the process before this one has ended/);
    await endOf(world, await world.create("story", { max_tokens: 3 }), "succeeded");
    expect(await containersOf(third)).toHaveLength(1);
  });
});
