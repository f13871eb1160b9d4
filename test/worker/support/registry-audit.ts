/** That what the registry has stored fits together: in the database, in R2, and in what accounts pay for. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { dropStrays } from "../../../src/services/registry/strays.ts";
import { sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { SHARES } from "../../../src/storage/registry/objects.ts";
import { run, services } from "./accounts.ts";
import { advance } from "./time.ts";

const MINUTE_MS = 60_000;
const DAY = 86_400;

/** Longer than a push may take, and what accepted predictions need is kept. */
const WEEKS = 8;
/** An index, its images and their layers go one after the other. */
const ROUNDS = 4;

/** What is due by then is done. */
export async function weeksLater(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    advance(WEEKS * DAY);
    await sweepRegistry(services, Date.now());
  }
  const shares = (await keysInR2()).map((key) => Number.parseInt(key.slice(6, 8), 16));
  for (const share of new Set(shares)) {
    // Each share has its minute.
    const minutes = (SHARES + share - (Math.floor(Date.now() / MINUTE_MS) % SHARES)) % SHARES;
    advance((minutes * MINUTE_MS) / 1_000);
    // Only this part of a sweep has shares; the rest is done.
    await dropStrays(services, Date.now(), Date.now() + MINUTE_MS);
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

/** R2 has the objects of the blobs and no others, and each blob is one of a repository. */
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

/** A blob once per account, a manifest in each repository. */
export async function expectExactBytes(): Promise<void> {
  const sums = await run(`SELECT user_id, sum(size) AS bytes FROM (
      SELECT DISTINCT user_id, digest, size FROM registry_links
      UNION ALL SELECT user_id, digest || model_id, size FROM registry_manifests)
    GROUP BY user_id HAVING sum(size) > 0 ORDER BY user_id`);
  const noted = await run("SELECT * FROM registry_bytes WHERE bytes <> 0 ORDER BY user_id");
  expect(noted).toEqual(sums);
}
