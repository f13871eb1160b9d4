/** A new model from `auspex init` to its containers: published, run, kept by an update, and cleaned up. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pageOf } from "../../src/protocol/common.ts";
import { prediction } from "../../src/protocol/prediction.ts";
import type { Home } from "../cli/support/command.ts";
import { docker } from "../docker/registry.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { containersOf, networksOf } from "./support/boxed.ts";
import { endOf } from "./support/end.ts";
import { type Greeter, openGreeter } from "./support/greeter.ts";
import type { Runner } from "./support/runner.ts";
import type { World } from "./support/world.ts";

if (!dockerIsUp) console.log("Docker does not answer: the journey of containers is left out.");

/** The server of the model in its own words: each greeting after the second takes 50 ms. */
const MODEL = `
import { setTimeout as sleep } from "node:timers/promises";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  async *predict({ name, times }) {
    for (let count = 1; count <= times; count++) {
      if (count > 2) await sleep(50);
      yield \`Hello, \${name}! \`;
    }
  },
});
`;

describe.runIf(dockerIsUp)("a new model", () => {
  let greeter: Greeter;
  let world: World;
  let home: Home;
  let runner: Runner;

  beforeAll(async () => {
    greeter = await openGreeter();
    ({ world, home, runner } = greeter);
    await writeFile(join(home.folder, "greeter/model.mjs"), MODEL);
  });
  afterAll(() => greeter.close());

  const idsOf = async ({ name }: Runner) =>
    (await docker("ps", "-q", "--filter", `label=auspex.runner=${name}`)).split("\n").sort();

  const predictions = async (query = "") =>
    (await world.client.call(pageOf(prediction), "GET", `/predictions${query}`)).items;

  it("a new model is pulled, started, and answers after three commands", async () => {
    const published = await home.run(["publish", "greeter"]);
    expect(published.code, published.err).toBe(0);
    expect(published.err).toMatch(/ada\/greeter:1 started\.\n$/);
    const [, call = ""] = published.out.split("\n");
    expect(call).toBe("auspex run ada/greeter name=world");
    // The trial run of the publisher costs a prediction, and leaves none that runs.
    const [trial] = await predictions();
    const started = world.watch(trial?.id ?? "");
    await started.ended;
    expect(JSON.stringify(started.dataOf("setup"))).toMatch(/pulling.*starting.*ready/);
    const ran = await home.run(["run", "ada/greeter", "name=Ada", "times=2"]);
    expect(ran, ran.err).toMatchObject({ code: 0, out: "Hello, Ada! Hello, Ada! \n" });
    // The container was warm: nothing was pulled or started.
    expect(ran.err).not.toMatch(/Pulling|Starting/);
  });

  it("an update finishes the running prediction, and loads no idle model again", async () => {
    const stream = await world.create("greeter", { name: "Ada", times: 60 });
    await stream.first("output");
    const containers = await idsOf(runner);
    expect(containers).toHaveLength(1);
    const next = world.update(runner);
    const { output } = await endOf(world, stream, "succeeded");
    expect(output).toHaveLength(60);
    expect(stream.attempts).toHaveLength(1);
    await runner.ends();
    await next.says(/adopted idle containers .*count=1/);
    runner = next;
    await endOf(world, await world.create("greeter", { name: "Ada", times: 1 }), "succeeded");
    expect(await idsOf(runner)).toEqual(containers);
  });

  it("a runner leaves no container and no network behind when it ends", async () => {
    expect(await containersOf(runner)).not.toEqual([]);
    await world.retire(runner);
    expect(await containersOf(runner)).toEqual([]);
    expect(await networksOf(runner)).toEqual([]);
    expect(await predictions("?statuses=pending&statuses=started")).toEqual([]);
  });
});
