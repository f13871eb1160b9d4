/** Deleted models with more images than one step can release. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { run, services } from "../support/accounts.ts";
import { VERSION } from "../support/catalogue.ts";
import { newRepository } from "../support/registry.ts";
import { modelOf, rowsOf } from "../support/registry-release.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

const HOLD_SECONDS = 4 * 86_400;

beforeAll(stopClock);
afterAll(startClock);

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
