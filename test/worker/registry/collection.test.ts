/** The collection of images, layers and objects that nothing has needed for a week. */
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import {
  dropOrphans,
  PUSH_MS,
  sweepRegistry,
} from "../../../src/services/registry/sweep-registry.ts";
import { SHARES } from "../../../src/storage/registry/objects.ts";
import { run, services } from "../support/accounts.ts";
import { VERSION } from "../support/catalogue.ts";
import {
  digestOf,
  expectError,
  newRepository,
  Repository,
  randomBytes,
} from "../support/registry.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

const PLATFORM = { os: "linux", architecture: "amd64" };
const DAY = 86_400;
const SECONDS = PUSH_MS / 1000 + 60;

/** Sweeps a week later. */
async function later() {
  advance(SECONDS);
  await sweepRegistry(services, Date.now());
}

/** Drops orphans of each share of R2, which has a minute of its own. */
async function allShares() {
  const now = Date.now();
  for (let minute = 0; minute < SHARES; minute++)
    await dropOrphans(services, now + minute * 60_000, Number.POSITIVE_INFINITY);
  await sweepRegistry(services, Date.now());
}

const objects = async () => (await env.IMAGES.list()).objects.length;

beforeAll(stopClock);
afterAll(startClock);

test("an image is kept while it has a tag, and collected with its layers afterwards", async () => {
  const repository = await newRepository();
  const before = await objects();
  const { digest, layers } = await repository.pushImage();
  const layer = digestOf(layers[0] ?? new Uint8Array());
  await later();
  await later();
  expect((await repository.send("GET", `manifests/${digest}`)).status).toBe(200);
  expect(await repository.blob(layer)).toEqual(layers[0]);
  expect((await repository.send("DELETE", "manifests/latest")).status).toBe(202);
  expect((await repository.send("GET", `manifests/${digest}`)).status).toBe(200);
  await later();
  await expectError(await repository.send("GET", `manifests/${digest}`), 404, "MANIFEST_UNKNOWN");
  await later();
  expect(await repository.has(layer)).toBe(false);
  expect(await objects()).toBe(before);
});

test("a layer that another image or repository has is kept there", async () => {
  const repository = await newRepository();
  const shared = randomBytes(500);
  await repository.pushImage("first", { layers: [shared] });
  await repository.pushImage("second", { layers: [shared, randomBytes(10)] });
  const other = await newRepository();
  await other.pushImage("latest", { layers: [shared] });
  await repository.send("DELETE", "manifests/first");
  await later();
  await later();
  expect(await repository.blob(digestOf(shared))).toEqual(shared);
  await repository.send("DELETE", "manifests/second");
  await later();
  await later();
  expect(await repository.has(digestOf(shared))).toBe(false);
  expect(await other.blob(digestOf(shared))).toEqual(shared);
});

test("a layer that a push has found is kept until its manifest can arrive", async () => {
  const repository = await newRepository();
  const layer = randomBytes(100);
  const digest = await repository.push(layer);
  advance(SECONDS - 120);
  expect(await repository.has(digest)).toBe(true);
  await later();
  advance(-120);
  // The push asked for the layer less than a week ago.
  await repository.pushImage("latest", { layers: [layer] });
  expect(await repository.blob(digest)).toEqual(layer);
});

test("an image of a version cannot be deleted until four days after the version's deletion", async () => {
  const repository = await newRepository();
  const { digest, layers } = await repository.pushImage();
  const path = `/v1/models/${repository.name}/versions`;
  const publish = () => repository.client.ok("POST", path, versionOf(digest));
  const refusal = async () =>
    expectError(await repository.send("DELETE", `manifests/${digest}`), 409, "DENIED");
  await publish();
  expect(await refusal()).toMatch(
    /is used by version 1 of this model\. Delete the version first\. You can delete the image four days later/,
  );
  for (let number = 2; number <= 6; number++) await publish();
  expect(await refusal()).toMatch(
    /used by versions 6, 5, 4, 3, 2 and others .* the versions first/,
  );
  const layer = digestOf(layers[0] ?? new Uint8Array());
  await expectError(await repository.send("DELETE", `blobs/${layer}`), 409, "DENIED");
  await repository.send("DELETE", "manifests/latest");
  await later();
  await later();
  expect(await repository.blob(layer)).toEqual(layers[0]);
  for (let number = 1; number <= 6; number++)
    await repository.client.ok("DELETE", `${path}/${number}`);
  const [, after] =
    /^Predictions of a .* You can delete it after (.*) UTC\.$/.exec(await refusal()) ?? [];
  // The end of a version is recorded by the clock of D1, which does not move.
  startClock();
  stopClock();
  const waitMs = Date.parse(`${after}Z`) - Date.now();
  expect(Math.abs(waitMs / 1000 - 4 * DAY)).toBeLessThan(180);
  advance(waitMs / 1000);
  await sweepRegistry(services, Date.now());
  expect((await repository.send("DELETE", `manifests/${digest}`)).status).toBe(202);
});

test("a manifest that a needed index names is not deleted, at any depth", async () => {
  const repository = await newRepository();
  const image = await repository.pushImage();
  const indexOf = async (named: string): Promise<string> => {
    const digest = digestOf(named);
    const manifests = [
      { mediaType: MEDIA_TYPES.ociManifest, digest, size: named.length, platform: PLATFORM },
    ];
    const text = JSON.stringify({ schemaVersion: 2, mediaType: MEDIA_TYPES.ociIndex, manifests });
    expect((await repository.putManifest("index", text, MEDIA_TYPES.ociIndex)).status).toBe(201);
    return text;
  };
  const inner = await indexOf(image.manifest);
  const outer = await indexOf(inner);
  const path = `/v1/models/${repository.name}/versions`;
  await repository.client.ok("POST", path, versionOf(digestOf(inner)));
  await run(
    "UPDATE versions SET container_image_digest = ? WHERE container_image_digest = ?",
    digestOf(outer),
    digestOf(inner),
  );
  const refusal = async (digest: string) =>
    expectError(await repository.send("DELETE", `manifests/${digest}`), 409, "DENIED");
  expect(await refusal(digestOf(outer))).toContain("is used by version 1");
  expect(await refusal(digestOf(inner))).toContain("is used by version 1");
  expect(await refusal(image.digest)).toContain("through nested indexes");
});

test("an image is collected with its model at once, except for one that predictions may need", async () => {
  // The end of a version is recorded by the clock of D1, which does not move.
  startClock();
  stopClock();
  const [free, held] = [await newRepository(), await newRepository()];
  const images = [await free.pushImage(), await held.pushImage()];
  await held.client.ok("POST", `/v1/models/${held.name}/versions`, versionOf(images[1]?.digest));
  const links = () => run("SELECT model_id FROM registry_links WHERE user_id IN (?, ?)", ...owners);
  const owners = [await ownerOf(free), await ownerOf(held)];
  const { id } = await held.client.ok<Model>("GET", `/v1/models/${held.name}`);
  for (const { client, name } of [free, held]) await client.ok("DELETE", `/v1/models/${name}`);
  await sweepRegistry(services, Date.now());
  expect(await links()).toEqual([{ model_id: id }, { model_id: id }]);
  advance(4 * DAY - 60);
  await sweepRegistry(services, Date.now());
  expect(await links()).toHaveLength(2);
  advance(120);
  await sweepRegistry(services, Date.now());
  expect(await links()).toEqual([]);
  expect(await run("SELECT key FROM registry_garbage")).toEqual([]);
});

test("an object in R2 that no row names is deleted after a day, and nothing else", async () => {
  // The clock of R2 does not move.
  startClock();
  stopClock();
  const repository = await newRepository();
  const layer = randomBytes(10);
  const digest = await repository.push(layer);
  const location = await repository.begin();
  await repository.patch(location, layer);
  const before = await objects();
  const stray = `blobs/00${crypto.randomUUID().slice(2)}`;
  await env.IMAGES.put(stray, "x");
  await allShares();
  expect(await env.IMAGES.head(stray)).not.toBe(null);
  advance(DAY - 5 * 3_600);
  await repository.patch(location, layer);
  // The clock of R2 is a little later than the stopped clock.
  advance(5 * 3_600 + 60);
  await allShares();
  expect(await env.IMAGES.head(stray)).toBe(null);
  expect(await objects()).toBe(before);
  expect(await repository.blob(digest)).toEqual(layer);
  const both = Uint8Array.from([...layer, ...layer]);
  expect((await repository.finish(location, digestOf(both))).status).toBe(201);
});

test("a blob counts once for its account, until it is deleted everywhere", async () => {
  const repository = await newRepository();
  const bytesOf = async () => {
    const [row] = await run(
      "SELECT bytes FROM registry_bytes WHERE user_id = ?",
      await ownerOf(repository),
    );
    return row?.bytes ?? 0;
  };
  const layer = randomBytes(5_000);
  const digest = await repository.push(layer);
  const sibling = new Repository(repository.client, `${repository.username}/sibling`);
  await sibling.push(layer);
  expect(await bytesOf()).toBe(5_000);
  expect((await repository.send("DELETE", `blobs/${digest}`)).status).toBe(202);
  expect(await bytesOf()).toBe(5_000);
  expect((await sibling.send("DELETE", `blobs/${digest}`)).status).toBe(202);
  expect(await bytesOf()).toBe(0);
});

const versionOf = (digest = "") => ({ ...VERSION, container_image_digest: digest });

async function ownerOf({ client }: Repository): Promise<string> {
  return (await client.ok<{ id: string }>("GET", "/v1/user")).id;
}
