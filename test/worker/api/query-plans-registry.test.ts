/** Query plans of the registry: a push, a pull and a deletion read no table as a whole. */
import { expect, test } from "vitest";
import { awaitsRestore } from "../../../src/services/backups/restore.ts";
import { PUSH_MS, sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { dropUnknown } from "../../../src/storage/registry/collection.ts";
import { services } from "../support/accounts.ts";
import { isCheap, planOf, statementsOf } from "../support/query-plans.ts";
import { digestOf, newRepository, randomBytes } from "../support/registry.ts";

const repository = await newRepository();
const { digest, config, manifest } = await repository.pushImage();
const layer = randomBytes(10);

test.each<[string, () => Promise<unknown>]>([
  ["a blob in one request", () => repository.push(layer)],
  ["a blob in chunks", async () => repository.patch(await repository.begin(), randomBytes(10))],
  ["a manifest", () => repository.putManifest("v2", manifest)],
  ["a mount", () => repository.send("POST", `blobs/uploads/?mount=${digestOf(config)}`)],
  ["a pull", () => repository.send("GET", "manifests/v2")],
  ["a list of tags", () => repository.send("GET", "tags/list")],
  [
    "a list of what is attached, of a type too",
    async () => {
      await repository.send("GET", `referrers/${digest}`);
      await repository.send("GET", `referrers/${digest}?artifactType=a/b`);
    },
  ],
  ["a layer deleted", () => repository.send("DELETE", `blobs/${digestOf(layer)}`)],
  ["a manifest deleted", () => repository.send("DELETE", `manifests/${digest}`)],
  [
    "a sweep after a deleted model, whose statement touches no row of its images",
    async () => {
      const other = await newRepository();
      await other.pushImage();
      await other.client.ok("DELETE", `/v1/models/${other.name}`);
      await sweepRegistry(services, Date.now());
    },
  ],
  ["a search for orphans", async () => dropUnknown(services.db, ["a", "b"])],
  ["a sweep", () => sweepRegistry(services, Date.now() + 2 * PUSH_MS)],
])("%s", async (name, call) => {
  const plans = await Promise.all((await statementsOf(call)).map(planOf));
  expect(plans.length).toBeGreaterThan(0);
  // Some scans are cheap: a recursion's queue, and the first rows to release, to hold or to delete from R2.
  const ends = ["SCAN naming", "SCAN registry_garbage", "SCAN registry_released", "SCAN held"];
  // The search for orphans, once a minute, reads all uploads under way: an index would cost each upload more.
  if (/orphans|sweep/.test(name)) ends.push("SCAN registry_uploads");
  // The check for a restore reads one run of a backup, and the first row of four tables.
  const once = await Promise.all((await statementsOf(() => awaitsRestore(services))).map(planOf));
  const steps = plans.flat().filter((step) => ![...ends, ...once.flat()].includes(step));
  expect(steps.filter((step) => !isCheap(step))).toEqual([]);
  // The references of one model may be a million.
  expect(
    steps.filter((step) => /\b(named|naming|registry_references)\b.*\(model_id=\?\)$/.test(step)),
  ).toEqual([]);
});
