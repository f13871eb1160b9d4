/** Runs whose rules the runner's own tests hold, here through a whole deployment. */
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { SAMPLE } from "../support/duotone.ts";
import { endOf } from "../support/end.ts";
import { runner, world } from "../support/shared.ts";

it("a prediction has structured input and output", async () => {
  const watch = await world.create("sums", { numbers: [3, 4, 8], operation: "median" });
  const full = await endOf(world, watch, "succeeded");
  expect(full.input).toEqual({ numbers: [3, 4, 8], operation: "median" });
  expect(full.output).toEqual({ operation: "median", count: 3, result: 4 });
  expect(watch.dataOf("logs").join("")).toContain("the result is 4");
});

it("a data URI is accepted as an input", async () => {
  const image = `data:image/jpeg;base64,${(await readFile(SAMPLE)).toString("base64")}`;
  const watch = await world.create("duotone", { image, width: 64 });
  const { output } = await endOf(world, watch, "succeeded");
  expect((await fetch(String(output))).status).toBe(200);
});

it.for([
  ["wrong id", "another prediction's state"],
  ["garbage", "something other than the state of a prediction"],
  ["huge", "larger than the limit of 16777216 bytes"],
])("a prediction fails when its container lies: %s", async ([lie, words]) => {
  const { error, output } = await endOf(world, await world.create("liar", { lie }), "failed");
  expect(error).toMatchObject({
    source: "external",
    message: expect.stringContaining(words ?? ""),
  });
  expect(output).toBeNull();
  await runner.rests("liar");
});

it("a cancel kills the container of a model that does not obey", async () => {
  const input = { numbers: [1], mode: "slow", seconds: 60, ignore_cancel: true };
  const watch = await world.create("sums", input);
  await watch.first("logs");
  expect(await world.cancel(watch.id)).toBe(202);
  await endOf(world, watch, "canceled");
  expect(runner.processes("sums")).toEqual([]);
});

it("a prediction accepts an input that is too large for the job itself", async () => {
  const numbers = Array.from({ length: 400_000 }, (_, index) => index);
  const watch = await world.create("sums", { numbers });
  const full = await endOf(world, watch, "succeeded");
  expect(full.output).toMatchObject({ count: 400_000, result: 79_999_800_000 });
});
