/** Images while a backup is made or restored, with sweeps between its parts. */
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { sweepBackups } from "../../../src/services/backups/make-backup.ts";
import { restoreBackup } from "../../../src/services/backups/restore.ts";
import { sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { run, services } from "../support/accounts.ts";
import {
  backups,
  download,
  emptyDeployment,
  makeBackup,
  upload,
  withKey,
  withoutKey,
} from "../support/backups.ts";
import { VERSION } from "../support/catalogue.ts";
import { digestOf, newRepository } from "../support/registry.ts";
import { operator } from "../support/world.ts";

const DAY_MS = 86_400_000;

const sweepLater = () => sweepRegistry(services, Date.now() + 8 * DAY_MS);

/** Moves the backup to an empty deployment that has the bucket of the images. */
async function moveTo(id: string): Promise<void> {
  const parts = await download(id);
  const { objects } = await env.IMAGES.list();
  const kept = await Promise.all(
    objects.map(async ({ key }) => {
      const object = await env.IMAGES.get(key);
      return [key, (await object?.arrayBuffer()) ?? expect.fail()] as const;
    }),
  );
  await emptyDeployment();
  for (const [key, bytes] of kept) await env.IMAGES.put(key, bytes);
  await upload(id, parts);
}

const tagsOf = (modelId: string) =>
  run("SELECT tag FROM registry_tags WHERE model_id = ?", modelId);

beforeAll(() => withKey());
afterAll(withoutKey);
beforeEach(emptyDeployment);

test("a sweep during a restore does not collect an image whose rows are not all restored", async () => {
  const repository = await newRepository();
  const { client, name } = repository;
  const { digest, layers } = await repository.pushImage("v1");
  await client.ok("POST", `/v1/models/${name}/versions`, {
    ...VERSION,
    container_image_digest: digest,
  });
  const other = await repository.pushImage("v2");
  await moveTo(await makeBackup());
  const [{ id = "" } = {}] = (await backups()).backups;
  // Each minute has its share of the bucket.
  const minutes = Array.from({ length: 256 }, (_, n) => Date.now() + 8 * DAY_MS + n * 60_000);
  for (const minute of minutes) await sweepRegistry(services, minute);
  do await sweepLater();
  while (!(await restoreBackup(services, id, 0)).done);
  for (const minute of minutes.slice(0, 2)) await sweepRegistry(services, minute);
  for (const tag of ["v1", "v2"])
    expect((await repository.send("GET", `manifests/${tag}`)).status).toBe(200);
  for (const bytes of [...layers, ...other.layers])
    expect(await repository.blob(digestOf(bytes))).toEqual(bytes);
});

test("a backup's tags of a deleted model are removed after its restore", async () => {
  const repository = await newRepository();
  const { client, name } = repository;
  await repository.pushImage("v1");
  const { id: modelId } = await client.ok<{ id: string }>("GET", `/v1/models/${name}`);
  await client.ok("DELETE", `/v1/models/${name}`);
  const { id } = await operator.ok<{ id: string }>("POST", "/v1/operator/backups");
  while (!(await backups()).backups.some((one) => one.id === id)) {
    await sweepBackups(services, Date.now(), 0);
    const [tags] = await run("SELECT 1 FROM backup_parts WHERE \"table\" = 'registry_tags'");
    if (tags) await sweepLater();
  }
  expect(await tagsOf(modelId)).toEqual([]);
  await moveTo(id);
  while (!(await restoreBackup(services, id, 0)).done);
  expect(await tagsOf(modelId)).toEqual([{ tag: "v1" }]);
  await sweepLater();
  expect(await tagsOf(modelId)).toEqual([]);
});

test("a model that was deleted during the backup and is restored keeps its tags", async () => {
  const repository = await newRepository();
  await repository.pushImage("v1");
  const { id } = await repository.client.ok<{ id: string }>("GET", `/v1/models/${repository.name}`);
  // The row stands for a page that was read after the model's deletion.
  await run("INSERT INTO registry_released (model_id) VALUES (?)", id);
  await sweepLater();
  expect(await tagsOf(id)).toEqual([{ tag: "v1" }]);
  expect(await run("SELECT * FROM registry_released")).toEqual([]);
});
