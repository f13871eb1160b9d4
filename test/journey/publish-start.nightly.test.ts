/** First starts of published versions: those that describe a model, those that fail, and those of `--check`. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { model, version } from "../../src/protocol/model.ts";
import type { Home } from "../cli/support/command.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { type Greeter, openGreeter } from "./support/greeter.ts";
import type { World } from "./support/world.ts";

if (!dockerIsUp) console.log("Docker does not answer: the journey of first starts is left out.");

describe.runIf(dockerIsUp)("a published model", () => {
  let greeter: Greeter;
  let world: World;
  let home: Home;

  beforeAll(async () => {
    greeter = await openGreeter();
    ({ world, home } = greeter);
    const { code, err } = await home.run(["publish", "greeter"]);
    expect(code, err).toBe(0);
  });
  afterAll(() => greeter.close());

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
});
