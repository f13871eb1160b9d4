/** Files from end to end: a model reads an upload, and its output is a file. */
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { upload } from "../../../src/protocol/upload.ts";
import { duotone, pixelsOf, SAMPLE } from "../support/duotone.ts";
import { endOf } from "../support/end.ts";
import { world } from "../support/shared.ts";
import { uploadFile } from "../support/upload-file.ts";

const uploadSample = () => uploadFile(world.client, SAMPLE);

it("a model makes a picture of an upload", async () => {
  const colours = { dark: "#102030", light: "#f0e0d0", width: 200 };
  const watch = await world.create("duotone", { image: await uploadSample(), ...colours });
  const { output } = await endOf(world, watch, "succeeded");
  const answer = await fetch(String(output));
  expect(answer.headers.get("content-type")).toBe("image/png");
  expect(answer.headers.get("content-disposition")).toContain("duotone.png");
  const made = await pixelsOf(Buffer.from(await answer.arrayBuffer()));
  expect(made).toEqual(await duotone(await readFile(SAMPLE), colours));
  expect(made.width).toBe(200);
});

it("removing the prediction removes its picture, and not the upload", async () => {
  const image = await uploadSample();
  const watch = await world.create("duotone", { image, width: 64 });
  const { output } = await endOf(world, watch, "succeeded");
  const removed = await world.client.fetch("DELETE", `/predictions/${watch.id}`);
  expect(removed.status).toBe(200);
  expect((await fetch(String(output))).status).toBe(404);
  expect(await world.get(watch.id)).toMatchObject({ data_removed: true, output: null });
  const path = new URL(image).pathname.replace("/v1", "");
  const { file_url } = await world.client.call(upload, "GET", path);
  const kept = await fetch(file_url ?? "");
  expect(Buffer.from(await kept.arrayBuffer())).toEqual(await readFile(SAMPLE));
});
