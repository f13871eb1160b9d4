/** `auspex publish` up to the first start of the version, with runners and without. */
import { expect, test } from "vitest";
import { deployment, edge, home, isCalled, useStart } from "../support/start-bed.ts";

useStart();

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
