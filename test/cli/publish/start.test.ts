/** `auspex publish` up to the first start of the version, with runners and without. */
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { archiveOf, fakeDocker } from "../support/archives.ts";
import { Home } from "../support/command.ts";
import { Edge } from "../support/edge.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";

let deployment: FakeDeployment;
let edge: Edge;
let home: Home;
beforeEach(async () => {
  deployment = await FakeDeployment.open();
  edge = await Edge.open(deployment.url, 1024 * 1024);
  home = new Home({ AUSPEX_URL: edge.url, AUSPEX_TOKEN: "aus_x" });
  const engine = fakeDocker(home.folder, await archiveOf("oci", [Buffer.from("small")]));
  home.environment.PATH = [engine, process.env.PATH].join(delimiter);
  mkdirSync(join(home.folder, "story"));
  writeFileSync(join(home.folder, "story/Dockerfile"), "FROM scratch\n");
});
afterEach(() => {
  edge.close();
  deployment.close();
  home.remove();
});

const isCalled = (end: string) => edge.bodies.some(({ path }) => path.endsWith(end));

test("a published version becomes the default once a runner has started it", async () => {
  const { code, err } = await home.call(["publish", "story"]);
  expect(code, err).toBe(0);
  expect(err).toContain("ada/story:1 started.\n");
  expect(deployment.models.get("story")).toMatchObject({
    versions: [{ set_default: false }],
    default_version: 1,
  });
});

test("a publish without a runner online fails within seconds, and keeps the default version", async () => {
  await home.call(["publish", "story", "--no-wait"]);
  deployment.isServed = false;
  const { code, err } = await home.call(["publish", "story"]);
  expect(code).toBe(1);
  expect(err).toContain(
    `auspex: ada/story:2 was published, but no cpu runner is accepting work to start it.
Start one (${edge.url}/docs/runners) and publish again. To wait for one, add --wait; to skip the start, --no-wait.
The default version is still ada/story:1. To make ada/story:2 the default anyway: auspex rollback ada/story:2
`,
  );
  expect(isCalled("/cancel")).toBe(true);
  expect(deployment.models.get("story")).not.toHaveProperty("default_version");
});

test("publish --wait waits for a runner to come online", async () => {
  deployment.isServed = false;
  const run = home.start(["publish", "story", "--wait"]);
  await run.says(/Published/);
  await expect.poll(() => isCalled("/v1/predictions"), { timeout: 10_000 }).toBe(true);
  expect(isCalled("/explain")).toBe(false);
  deployment.isServed = true;
  const { code, err } = await run.end();
  expect(code, err).toBe(0);
  expect(deployment.models.get("story")).toMatchObject({ default_version: 1 });
});
