/** Archives of engines, and what is wrong with those that are none. */
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pack } from "tar-stream";
import { expect, test } from "vitest";
import { readArchive } from "../../../src/cli/image/archive.ts";
import { archiveOf } from "../support/archives.ts";

async function read(bytes: Buffer) {
  const large: [path: string, size: number][] = [];
  const archive = await readArchive(
    Readable.from([bytes]),
    async (path, entry, size) => {
      expect((await buffer(entry)).length).toBe(size);
      large.push([path, size]);
    },
    new AbortController().signal,
  );
  return { ...archive, large };
}

const tarOf = (files: Record<string, string>): Promise<Buffer> => {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name }, content);
  archive.finalize();
  return buffer(archive);
};

test("a layer that is there twice is a link to the first; small ones are kept", async () => {
  const layer = randomBytes(2 * 1024 * 1024);
  const { layers, large } = await read(
    await archiveOf("classic", [layer, Buffer.from("s"), layer]),
  );
  expect(large).toEqual([[layers[0]?.path, layer.length]]);
  expect(layers.map(({ path }) => path === layers[0]?.path)).toEqual([true, false, true]);
  expect(layers[1]?.small?.toString()).toBe("s");
});

test("of several platforms, that of runners is taken", async () => {
  const image = (name: string) => ({ Config: `${name}.json`, Layers: [`${name}.tar`] });
  const config = (architecture: string) => JSON.stringify({ os: "linux", architecture });
  const { layers } = await read(
    await tarOf({
      "arm.json": config("arm64"),
      "arm.tar": "arm",
      "amd.json": config("amd64"),
      "amd.tar": "amd",
      "manifest.json": JSON.stringify([image("arm"), image("amd")]),
    }),
  );
  expect(layers).toEqual([{ path: "amd.tar", small: Buffer.from("amd") }]);
});

test.each<[string, Record<string, string>, string]>([
  ["configuration", { "a.tar": "x" }, "a.json is missing"],
  ["layer", { "a.json": "{}" }, "a.tar is missing"],
])("an archive without its %s is said to be incomplete", async (_, files, message) => {
  const listed = JSON.stringify([{ Config: "a.json", Layers: ["a.tar"] }]);
  const archive = await tarOf({ ...files, "manifest.json": listed });
  await expect(read(archive)).rejects.toThrow(message);
});

test("what is no archive of an image, or breaks off, says so", async () => {
  await expect(read(await tarOf({ "index.json": "{}" }))).rejects.toThrow("no manifest.json");
  const whole = await archiveOf("oci", [randomBytes(2 * 1024 * 1024)]);
  await expect(read(whole.subarray(0, 1_000_000))).rejects.toThrow();
});
