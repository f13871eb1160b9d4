/** Deleted models with more images than one step can release. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { releaseImages } from "../../../src/storage/registry/release.ts";
import { run, services } from "../support/accounts.ts";
import { VERSION } from "../support/catalogue.ts";
import { newRepository, Repository } from "../support/registry.ts";
import { expectExactBytes, expectExactObjects } from "../support/registry-audit.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

const HOLD_SECONDS = 4 * 86_400;

const TABLES = ["registry_tags", "registry_links", "registry_manifests", "registry_released"];

async function rowsOf(modelId: string): Promise<Record<string, number>> {
  const counts = await Promise.all(
    TABLES.map(async (table) => {
      const [row] = await run(`SELECT count(*) AS n FROM ${table} WHERE model_id = ?`, modelId);
      return [table.replace("registry_", ""), Number(row?.n)] as const;
    }),
  );
  return Object.fromEntries(counts);
}

const marked = async (modelId: string) => {
  const counts = ["registry_links", "registry_manifests"].map(async (table) => {
    const statement = `SELECT count(*) AS n FROM ${table} WHERE model_id = ? AND used_at = 0`;
    return Number((await run(statement, modelId))[0]?.n);
  });
  return Promise.all(counts);
};

const modelOf = async ({ client, name }: Repository) =>
  (await client.ok<{ id: string }>("GET", `/v1/models/${name}`)).id;

/** Pushes images with a tag, a layer and a configuration each. */
async function imagesOf(repository: Repository, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await repository.pushImage(`v${n}`);
}

beforeAll(stopClock);
afterAll(startClock);

test("a step releases at most a number of rows of each kind, until nothing is left", async () => {
  const repository = await newRepository();
  await imagesOf(repository, 5);
  const id = await modelOf(repository);
  const other = new Repository(repository.client, `${repository.username}/other`);
  await imagesOf(other, 1);
  const otherId = await modelOf(other);
  await repository.client.ok("DELETE", `/v1/models/${repository.name}`);
  await repository.client.ok("DELETE", `/v1/models/${other.name}`);
  // The deletion has touched only the row of the model.
  expect(await rowsOf(id)).toEqual({ tags: 5, links: 10, manifests: 5, released: 1 });
  const step = () => releaseImages(services.db, { models: 1, rows: 3 });
  const steps: (number | undefined)[][] = [];
  while ((await step()) > 0) {
    expect(steps.length).toBeLessThan(20);
    steps.push([(await rowsOf(id)).tags, ...(await marked(id))]);
  }
  const tags = steps.map(([first]) => first);
  expect(tags.filter((n) => n !== 0)).toEqual(expect.arrayContaining([2]));
  for (const [before, after] of steps.slice(1).map((one, n) => [steps[n], one] as const))
    for (const [column, count] of after.entries())
      expect(Math.abs((count ?? 0) - (before?.[column] ?? 0))).toBeLessThanOrEqual(3);
  expect(await marked(id)).toEqual([10, 5]);
  expect(await marked(otherId)).toEqual([2, 1]);
  await sweepRegistry(services, Date.now());
  await sweepRegistry(services, Date.now());
  for (const one of [id, otherId])
    expect(await rowsOf(one)).toEqual({ tags: 0, links: 0, manifests: 0, released: 0 });
  await expectExactObjects();
  await expectExactBytes();
});

test("a model without images has nothing to release", async () => {
  const { client, username } = await newRepository();
  await client.ok("POST", "/v1/models", { name: "empty" });
  await client.ok("DELETE", `/v1/models/${username}/empty`);
  expect(await run("SELECT * FROM registry_released")).toEqual([]);
});

test("a deleted model's images for accepted predictions are kept until these have ended", async () => {
  const repository = await newRepository();
  const { client, name } = repository;
  const { digest } = await repository.pushImage("v1");
  await repository.pushImage("v2");
  const id = await modelOf(repository);
  await client.ok("POST", `/v1/models/${name}/versions`, {
    ...VERSION,
    container_image_digest: digest,
  });
  await client.ok("DELETE", `/v1/models/${name}`);
  await sweepRegistry(services, Date.now());
  await sweepRegistry(services, Date.now());
  expect(await rowsOf(id)).toEqual({ tags: 0, links: 2, manifests: 1, released: 0 });
  advance(HOLD_SECONDS + 60);
  await sweepRegistry(services, Date.now());
  await sweepRegistry(services, Date.now());
  expect(await rowsOf(id)).toEqual({ tags: 0, links: 0, manifests: 0, released: 0 });
});
