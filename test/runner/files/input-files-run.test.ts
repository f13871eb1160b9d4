/** Input files in a whole run: fetched while the container starts. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Box, openBox } from "../support/containers.ts";

let box: Box;
beforeAll(async () => {
  box = await openBox();
});
afterAll(() => box.close());

const files = [{ at: ["image"] }];
const image = "https://10.0.0.1/private.png";

it("an input file that cannot be fetched ends the run before its container is ready", async () => {
  const run = box.run("liar", { image }, { files, variables: { SETUP: "endless" } });
  expect(await run.finish).toMatchObject({
    status: "failed",
    error: { source: "external", message: expect.stringMatching(/^input\.image: 10\.0\.0\.1/) },
  });
  expect(JSON.stringify(run.reporter.of("setup"))).not.toContain("ready");
});

it("the next run has the container to itself", async () => {
  const name = { name: "Ada" };
  const failed = await box.run("hello", { ...name, image }, { files }).finish;
  expect(failed.status).toBe("failed");
  const { finish, reporter } = box.run("hello", name);
  expect(await finish).toMatchObject({ status: "succeeded" });
  expect(reporter.of("output")).toEqual(["Hello, Ada!"]);
});
