/** Files that one run hands to another, and those that a model cannot read. */
import { expect, it } from "vitest";
import { pixelsOf, SAMPLE } from "../support/duotone.ts";
import { endOf } from "../support/end.ts";
import { world } from "../support/shared.ts";
import { uploadFile } from "../support/upload-file.ts";

const uploadSample = () => uploadFile(world.client, SAMPLE);

it("the output of one run is the input of another", async () => {
  const first = await world.create("duotone", { image: await uploadSample(), width: 100 });
  const { output: image } = await endOf(world, first, "succeeded");
  const second = await world.create("duotone", { image, width: 50 });
  const { output } = await endOf(world, second, "succeeded");
  const answer = await fetch(String(output));
  expect((await pixelsOf(Buffer.from(await answer.arrayBuffer()))).width).toBe(50);
});

it("an address that is not public fails the prediction, and the error names the input", async () => {
  const watch = await world.create("duotone", { image: "https://169.254.169.254/latest/meta" });
  const { error } = await endOf(world, watch, "failed");
  expect(error).toMatchObject({ source: "external" });
  expect(error?.message).toMatch(/^input\.image: .*169\.254\.169\.254/);
});

it("an input that is no picture fails with the model's words", async () => {
  const image = `data:text/plain;base64,${Buffer.from("no picture").toString("base64")}`;
  const { error } = await endOf(world, await world.create("duotone", { image }), "failed");
  expect(error).toMatchObject({ source: "external" });
});
