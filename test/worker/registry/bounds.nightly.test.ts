/** Sweeps of much garbage in the registry. */
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { run, services } from "../support/accounts.ts";
import { expectError, newRepository } from "../support/registry.ts";
import { newUser, unique } from "../support/world.ts";

// A deployment without users awaits a restore, and sweeps nothing.
await newUser();

const manyOf = (count: number) => JSON.stringify([...Array(count).keys()]);

test("a sweep removes 12,500 keys of garbage", async () => {
  await run(
    "INSERT INTO registry_garbage (key) SELECT ? || value FROM json_each(?)",
    unique("blobs/"),
    manyOf(12_500),
  );
  await sweepRegistry(services, Date.now());
  expect(await run("SELECT count(*) AS left FROM registry_garbage")).toEqual([{ left: 0 }]);
});

test("a sweep aborts 150 uploads", async () => {
  const begun = await Promise.all(
    Array.from({ length: 150 }, () => env.IMAGES.createMultipartUpload(unique("blobs/"))),
  );
  const rows = begun.map(({ key, uploadId }) => ({ key, uploadId }));
  await run(
    "INSERT INTO registry_garbage SELECT value ->> 'key', value ->> 'uploadId' FROM json_each(?)",
    JSON.stringify(rows),
  );
  await sweepRegistry(services, Date.now());
  expect(await run("SELECT count(*) AS left FROM registry_garbage")).toEqual([{ left: 0 }]);
  for (const { key, uploadId } of [rows[0], rows[149]].flatMap((row) => row ?? []))
    await expect(
      env.IMAGES.resumeMultipartUpload(key, uploadId).uploadPart(1, "x"),
    ).rejects.toThrow();
});

test.each([
  [
    "indexes",
    "registry_references (model_id, manifest, digest)",
    "model_id, 'sha256:' || value, digest",
  ],
  [
    "tags",
    "registry_tags (model_id, tag, digest, user_id, updated_at)",
    "model_id, 't' || value, digest, user_id, 1",
  ],
])("a manifest with thousands of %s is not deleted before them", async (_, table, columns) => {
  const repository = await newRepository();
  const { digest } = await repository.pushImage();
  await run(
    `INSERT INTO ${table} SELECT ${columns} FROM registry_manifests, json_each(?) WHERE digest = ?`,
    manyOf(5_000),
    digest,
  );
  const batch = vi.spyOn(env.DB, "batch");
  const refused = await repository.send("DELETE", `manifests/${digest}`);
  expect(await expectError(refused, 409, "DENIED")).toContain("Delete those first");
  const answers: D1Result[][] = await Promise.all(batch.mock.results.map(({ value }) => value));
  vi.restoreAllMocks();
  const rows = answers.flat().reduce((sum, { meta }) => sum + meta.rows_read, 0);
  expect(rows).toBeLessThan(10_000);
});
