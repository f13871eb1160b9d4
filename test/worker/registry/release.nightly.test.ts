/** The release of many rows of the registry, step by step. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { releaseImages } from "../../../src/storage/registry/release.ts";
import { services } from "../support/accounts.ts";
import { newRepository, Repository } from "../support/registry.ts";
import { expectExactBytes, expectExactObjects } from "../support/registry-audit.ts";
import { imagesOf, marked, modelOf, rowsOf } from "../support/registry-release.ts";
import { startClock, stopClock } from "../support/time.ts";

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
