/** Checks of the registry's storage: the database, R2 and the bytes that accounts are charged for agree. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { dropOrphans, sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { SHARES } from "../../../src/storage/registry/objects.ts";
import { run, services } from "./accounts.ts";
import { advance } from "./time.ts";

const MINUTE_MS = 60_000;
const DAY = 86_400;

/** The weeks exceed the time of a push, and the time that accepted predictions keep an image. */
const WEEKS = 8;
/** The rounds delete an index, then its images, then their layers. */
const ROUNDS = 4;

/** Lets weeks pass, with all sweeps that are due. */
export async function weeksLater(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    advance(WEEKS * DAY);
    await sweepRegistry(services, Date.now());
  }
  const shares = (await keysInR2()).map((key) => Number.parseInt(key.slice(6, 8), 16));
  for (const share of new Set(shares)) {
    // Each share of R2 is swept in its own minute.
    const minutes = (SHARES + share - (Math.floor(Date.now() / MINUTE_MS) % SHARES)) % SHARES;
    advance((minutes * MINUTE_MS) / 1_000);
    // Only this part of a sweep has shares; the other parts are done.
    await dropOrphans(services, Date.now(), Date.now() + MINUTE_MS);
  }
  await sweepRegistry(services, Date.now());
}

export async function keysInR2(): Promise<string[]> {
  const keys: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await env.IMAGES.list(cursor === undefined ? {} : { cursor });
    keys.push(...page.objects.map(({ key }) => key));
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
  return keys.toSorted();
}

/** Expects R2 to have exactly the objects of the blobs, and each blob to be in a repository. */
export async function expectExactObjects(): Promise<void> {
  expect(await run("SELECT * FROM registry_garbage")).toEqual([]);
  expect(await run("SELECT * FROM registry_uploads")).toEqual([]);
  expect(await run("SELECT * FROM registry_upload_parts")).toEqual([]);
  const blobs = await run("SELECT key FROM registry_blobs ORDER BY key");
  expect(await keysInR2()).toEqual(blobs.map(({ key }) => key));
  const unused = `SELECT digest FROM registry_blobs
    WHERE digest NOT IN (SELECT digest FROM registry_links UNION SELECT digest FROM registry_manifests)`;
  expect(await run(unused)).toEqual([]);
}

/** Expects accounts to be charged for a blob once, and for a manifest in each repository. */
export async function expectExactBytes(): Promise<void> {
  const sums = await run(`SELECT user_id, sum(size) AS bytes FROM (
      SELECT DISTINCT user_id, digest, size FROM registry_links
      UNION ALL SELECT user_id, digest || model_id, size FROM registry_manifests)
    GROUP BY user_id HAVING sum(size) > 0 ORDER BY user_id`);
  const noted = await run("SELECT * FROM registry_bytes WHERE bytes <> 0 ORDER BY user_id");
  expect(noted).toEqual(sums);
}
