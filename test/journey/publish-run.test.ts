/** `auspex init`, `publish` and `run` up to a first answer, with a runner that has Docker. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { pageOf } from "../../src/protocol/common.ts";
import { model, version } from "../../src/protocol/model.ts";
import { prediction } from "../../src/protocol/prediction.ts";
import { Home } from "../cli/support/command.ts";
import { docker, makeBase } from "../docker/registry.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { World } from "./support/world.ts";

if (!dockerIsUp) console.log("Docker does not answer: the journey of a new model is left out.");

/** The image has 50 MB compressed. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

describe.runIf(dockerIsUp)("a new model", () => {
  let world: World;
  let home: Home;

  beforeAll(async () => {
    world = await World.open({ variables: { IMAGE_REGISTRY: "" }, publish: async () => {} });
    await world.runner("boxed");
    home = new Home({
      AUSPEX_URL: world.access.url,
      AUSPEX_TOKEN: world.access.token,
      DOCKER_BUILDKIT: "0",
    });
    await makeBase();
    await home.run(["init", "greeter", "--template", "node"]);
  });
  afterAll(async () => {
    await world.close();
    home.remove();
    await docker("image", "rm", "--force", "auspex/ada-greeter").catch(() => {});
    const pulled = await docker("images", "--quiet", `${new URL(world.access.url).host}/*/*/*`);
    for (const id of new Set(pulled.split("\n").filter(Boolean)))
      await docker("image", "rm", "--force", id).catch(() => {});
  });

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

  it("the first start of a version fills in the schemas that its image does not have", async () => {
    // Only the image describes the model once the folder is gone.
    rmSync(`${home.folder}/greeter`, { recursive: true });
    const args = ["publish", "--image", "auspex/ada-greeter", "--model", "told", "--json"];
    const made = await home.run([...args, "--no-wait"]);
    const first = JSON.parse(made.out);
    expect(first.version.status).toBe("awaiting_first_start");
    expect(made.err).toContain("Its schema and APIs are detected");
    const listed = await home.run(["versions", "ada/told"]);
    expect(listed.out).toContain(
      "ada/told:1 has not been started yet. Run it once to detect its schema and APIs.",
    );
    const { out, err, code } = await home.run(args);
    expect(code, err).toBe(0);
    const { number, digest } = JSON.parse(out);
    expect(digest).toBe(first.digest);
    const path = `/models/ada/told/versions/${number}`;
    const told = await world.client.call(version, "GET", path);
    expect(told.status).toBe("ready");
    expect(JSON.stringify(told.schemas.prediction.input)).toContain("Who to greet");
    expect(await world.client.call(model, "GET", "/models/ada/told")).toMatchObject({
      visibility: "private",
    });
  });

  it("`publish --check` makes the first start on the publisher's machine", async () => {
    const args = [
      "publish",
      "--image",
      "auspex/ada-greeter",
      "--model",
      "checked",
      "--check",
      "--no-wait",
    ];
    const { out, err, code } = await home.run([...args, "--json"]);
    expect(code, err).toBe(0);
    const { version: checked, call } = JSON.parse(out);
    expect(checked.status).toBe("ready");
    expect(JSON.stringify(checked.schemas.prediction.input)).toContain("Who to greet");
    expect(call).toBe("auspex run ada/checked name=world");
  });

  it("`publish` leaves the version before as the default when the new one does not start", async () => {
    const folder = `${home.folder}/broken`;
    mkdirSync(folder);
    writeFileSync(
      `${folder}/Dockerfile`,
      'FROM node:24-slim\nCMD ["node", "-e", "console.log(\'no weights\'); process.exit(3)"]\n',
    );
    const path = "/models/ada/greeter";
    const before = (await world.client.call(model, "GET", path)).latest_version?.number;
    const { code, err } = await home.run(["publish", "broken", "--model", "greeter"]);
    expect(code).toBe(1);
    expect(err).toContain("failed to start");
    expect(err).toContain(`The default version is still ada/greeter:${before}.`);
    expect(await world.client.call(model, "GET", path)).toMatchObject({ default_version: before });
    const ran = await home.run(["run", "ada/greeter", "name=Ada", "times=1"]);
    expect(ran, ran.err).toMatchObject({ code: 0, out: "Hello, Ada! \n" });
  });

  it("a trial run costs a prediction, and leaves none that runs", async () => {
    const list = pageOf(prediction);
    const idle = async () => {
      const path = "/predictions?statuses=pending&statuses=started";
      expect((await world.client.call(list, "GET", path)).items).toEqual([]);
    };
    await vi.waitFor(idle, { timeout: 20_000, interval: 500 });
  });
});
