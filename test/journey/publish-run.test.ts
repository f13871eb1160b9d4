/** `auspex init`, `publish` and `run` up to a first answer, with a runner that has Docker. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { pageOf } from "../../src/protocol/common.ts";
import { prediction } from "../../src/protocol/prediction.ts";
import type { Home } from "../cli/support/command.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { type Greeter, openGreeter } from "./support/greeter.ts";
import type { World } from "./support/world.ts";

if (!dockerIsUp) console.log("Docker does not answer: the journey of a new model is left out.");

describe.runIf(dockerIsUp)("a new model", () => {
  let greeter: Greeter;
  let world: World;
  let home: Home;

  beforeAll(async () => {
    greeter = await openGreeter();
    ({ world, home } = greeter);
  });
  afterAll(() => greeter.close());

  it("a new model answers after three commands", async () => {
    const published = await home.run(["publish", "greeter"]);
    expect(published.code, published.err).toBe(0);
    expect(published.err).toMatch(/ada\/greeter:1 started\.\n$/);
    const [, call = ""] = published.out.split("\n");
    expect(call).toBe("auspex run ada/greeter name=world");
    const ran = await home.run(["run", "ada/greeter", "name=Ada", "times=2"]);
    expect(ran, ran.err).toMatchObject({ code: 0, out: "Hello, Ada! Hello, Ada! \n" });
    // The container was warm: nothing was pulled or started.
    expect(ran.err).not.toMatch(/Pulling|Starting/);
    // The image of the first publish has a tag of its own by now.
    const again = await home.run(["publish", "greeter"]);
    expect(again.code, again.err).toBe(0);
  });

  it("a trial run costs a prediction, and leaves none that runs", async () => {
    const list = pageOf(prediction);
    const idle = async () => {
      const path = "/predictions?statuses=pending&statuses=started";
      expect((await world.client.call(list, "GET", path)).items).toEqual([]);
    };
    await vi.waitFor(idle, { interval: 500 });
  });
});
