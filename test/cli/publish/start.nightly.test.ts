/** `auspex publish --wait`, which waits for a runner to come online. */
import { expect, test } from "vitest";
import { deployment, home, isCalled, useStart } from "../support/start-bed.ts";

useStart();

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
