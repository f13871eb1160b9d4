/** Names of images in the deployment's own registry, and the credentials of their pulls. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { missingBytes } from "../../../runner/src/engines/docker/image-layers.ts";
import { ImageRecord } from "../../../runner/src/engines/docker/image-store.ts";
import { isOwnImage, OwnRegistry } from "../../../runner/src/engines/docker/own-registry.ts";

const repository = "auspex/models/0193b0f0-0000-7000-8000-000000000001";
const digest = `sha256:${"a".repeat(64)}`;
const image = { repository, digest, grant: "secret" };

describe("the deployment's own registry", () => {
  test.each([
    ["https://auspex.example.com", "auspex.example.com"],
    ["https://auspex.example.com:8443/", "auspex.example.com:8443"],
    ["http://127.0.0.1:8787", "127.0.0.1:8787"],
    ["http://localhost", "localhost"],
    // A host without a dot or a port would be a path on Docker Hub.
    ["http://auspex", "auspex:80"],
    ["https://auspex", "auspex:443"],
    ["https://auspex:9000", "auspex:9000"],
  ])("the own registry at %s is %s to Docker", (url, host) => {
    const registry = new OwnRegistry(url);
    const reference = `${host}/${repository}@${digest}`;
    expect(registry.localReference(image)).toBe(reference);
    expect(registry.reportedReference(reference)).toBe(`${repository}@${digest}`);
    expect(registry.credentials(image)).toEqual({
      username: "runner",
      password: "secret",
      serveraddress: host,
    });
  });

  test.each([
    `other.example.com/${repository}@${digest}`,
    `auspex.example.com:443/${repository}@${digest}`,
    `auspex.example.com/ada/story@${digest}`,
    `ada/story@${digest}`,
  ])("the own registry does not have the reference %s", (reference) => {
    expect(new OwnRegistry("https://auspex.example.com").reportedReference(reference)).toBe(
      reference,
    );
  });

  it("the own registry gives no credentials without a grant", () => {
    const registry = new OwnRegistry("https://auspex.example.com");
    expect(registry.credentials({ repository, digest })).toEqual({});
  });

  it("the own registry has only repositories that are named by a model's ID", () => {
    expect(isOwnImage(image)).toBe(true);
    expect(isOwnImage({ repository: "auspex/models/story", digest })).toBe(false);
  });
});

describe("what a pull has to fetch", () => {
  const layers = ["a", "b", "c"].map((name, at) => {
    return { digest: `sha256:${name}`, size: 10 ** at, diffId: `sha256:unpacked-${name}` };
  });
  const ids = (...names: string[]) => names.map((name) => `sha256:unpacked-${name}`);

  test.each([
    ["all of it when no image is there", [], 111],
    ["what lies above the layers of another", [ids("a"), ids("a", "b", "x")], 100],
    ["all of it when only upper layers are the same", [ids("b", "c")], 111],
    ["nothing when all are there", [ids("a", "b", "c", "d")], 0],
  ])("the bytes of a pull are computed for %s", (_, local, bytes) => {
    expect(missingBytes(layers, local)).toBe(bytes);
  });
});

describe("the record of images", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "auspex-images-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const opened = async () => {
    const record = new ImageRecord(folder);
    await record.open();
    return record;
  };

  it("the record of images outlives the process", async () => {
    const record = await opened();
    await Promise.all([record.note("r/a@1"), record.note("r/b@1")]);
    await record.removed("r/b@1");
    const next = await opened();
    expect(next.references).toEqual(["r/a@1"]);
    expect(next.lastUsed("r/a@1")).toBe(record.lastUsed("r/a@1"));
    expect(readdirSync(folder)).toEqual(["images.json"]);
  });

  it("the record has only images that this runner has pulled", async () => {
    const record = await opened();
    await record.used("r/others@1");
    expect(record.references).toEqual([]);
  });

  it.each(["{", "[]", '{"r/a@1":"yesterday"}'])(
    "the record is empty if its file is broken: %s",
    async (text) => {
      writeFileSync(join(folder, "images.json"), text);
      expect((await opened()).references).toEqual([]);
    },
  );
});
