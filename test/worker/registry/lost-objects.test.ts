/** Images whose objects in R2 were lost: pulls get a 404, and the next push sends the content again. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { sized } from "../../support/sized.ts";
import { run, services } from "../support/accounts.ts";
import {
  digestOf,
  expectError,
  newRepository,
  type Pushed,
  Repository,
  randomBytes,
} from "../support/registry.ts";

const digestsOf = ({ digest, config, layers }: Pushed) => [
  digest,
  ...[config, ...layers].map(digestOf),
];

async function lose(digests: string[]): Promise<void> {
  const rows = await run(
    "SELECT key FROM registry_blobs WHERE digest IN (SELECT value FROM json_each(?))",
    JSON.stringify(digests),
  );
  expect(rows).toHaveLength(digests.length);
  await env.IMAGES.delete(rows.map(({ key }) => String(key)));
}

/** Pushes as containerd does, only missing content. Returns the number of blobs and manifests sent. */
async function pushAgain(
  repository: Repository,
  { digest, config, layers, manifest }: Pushed,
): Promise<number> {
  let sent = 0;
  for (const bytes of [config, ...layers]) {
    if (await repository.has(digestOf(bytes))) continue;
    await repository.push(bytes);
    sent += 1;
  }
  const found = await repository.send("HEAD", "manifests/latest");
  if (found.status === 200 && found.headers.get("docker-content-digest") === digest) return sent;
  expect((await repository.putManifest("latest", manifest)).status).toBe(201);
  return sent + 1;
}

async function expectWhole(repository: Repository, image: Pushed): Promise<void> {
  const manifest = await repository.send("GET", "manifests/latest");
  expect(await manifest.text()).toBe(image.manifest);
  for (const bytes of [image.config, ...image.layers])
    expect(await repository.blob(digestOf(bytes))).toEqual(bytes);
}

const LOSSES: [string, (image: Pushed) => string[]][] = [
  ["a layer", ({ layers }) => layers.slice(0, 1).map(digestOf)],
  ["its configuration", ({ config }) => [digestOf(config)]],
  ["its manifest", ({ digest }) => [digest]],
  ["all of it", digestsOf],
];
test.each(LOSSES.slice(0, sized(1, LOSSES.length)))(
  "an image that lost %s is a 404 for pulls, until the next push restores it",
  async (_, lost) => {
    const repository = await newRepository();
    const image = await repository.pushImage("latest", {
      layers: [randomBytes(1_000), randomBytes(2_000)],
    });
    expect(await pushAgain(repository, image)).toBe(0);
    await lose(lost(image));
    for (const digest of lost(image)) {
      const isManifest = digest === image.digest;
      const path = isManifest ? `manifests/${digest}` : `blobs/${digest}`;
      const code = isManifest ? "MANIFEST_UNKNOWN" : "BLOB_UNKNOWN";
      const told = await expectError(await repository.send("GET", path), 404, code);
      expect(told).toContain("Push it first.");
    }
    expect(await pushAgain(repository, image)).toBe(lost(image).length);
    await sweepRegistry(services, Date.now());
    await expectWhole(repository, image);
  },
);

test("a lost layer of several repositories is restored for all by one push", async () => {
  const layer = randomBytes(1_000);
  const first = await newRepository();
  const image = await first.pushImage("latest", { layers: [layer] });
  const digest = digestOf(layer);
  await lose([digest]);
  const second = await newRepository();
  const other = new Repository(second.client, `${second.username}/other`);
  await second.pushImage("latest", { layers: [layer] });
  await expectWhole(first, image);
  await lose([digest]);
  // A lost layer cannot be mounted, so that the client has to send it.
  const mount = `blobs/uploads/?mount=${digest}&from=${second.name}`;
  expect((await other.send("POST", mount)).status).toBe(202);
  await other.push(layer);
  await expectWhole(first, image);
});
