/** How long weights are kept that several versions name, and which jobs have them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Version } from "../../../src/protocol/model.ts";
import { closeAccount } from "../../../src/storage/accounts/account-removal.ts";
import { services } from "../support/accounts.ts";
import { anEntry } from "../support/audit.ts";
import { publish, VERSION } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { keysBelow, uploaded, uploadRow } from "../support/files.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { filesOf, jobFor, swept, TARGET, weighed, weightsAt } from "../support/weights.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const DAY = 86_400;
describe("a job", () => {
  test("a job's key for weights is the same for all models of an owner, whoever runs them", async () => {
    const [one, other] = [await newWorld({ visibility: "public" }), await newWorld()];
    const keyOf = async (world: World, client: Client) =>
      (await jobFor(world, client)).keys.weights;
    await weighed(one);
    const key = await keyOf(one, one.client);
    await weighed(one);
    expect(await keyOf(one, await one.stranger())).toBe(key);
    await weighed(other);
    expect(await keyOf(other, other.client)).not.toBe(key);
  });

  test("a job of a later version has the inherited weights, until a version replaces them", async () => {
    const world = await newWorld();
    const { upload } = await weighed(world);
    const next = await publish(world.client, world.model);
    expect(next.configuration.weights).toEqual([{ target: TARGET, file: upload.id }]);
    expect(filesOf(await jobFor(world, world.client))).toMatchObject([{ id: upload.id, size: 7 }]);
    await publish(world.client, world.model, { configuration: {} });
    expect(await jobFor(world, world.client)).not.toHaveProperty("weights");
  });
});

describe("a file that a version names", () => {
  const versionPath = ({ model }: World, { number }: Version) =>
    `/v1/models/${model}/versions/${number}`;

  test("a version's file is kept while any version names it, and expires after the last", async () => {
    const world = await newWorld();
    const { upload, version } = await weighed(world);
    const next = await publish(world.client, world.model);
    advance(29 * DAY);
    await world.client.ok("DELETE", versionPath(world, version));
    advance(40 * DAY);
    expect(await swept(upload.id)).toBe(false);
    await world.client.ok("DELETE", versionPath(world, next));
    // The retention is 30 days, plus the time that a run may take.
    advance(31 * DAY);
    expect(await swept(upload.id)).toBe(false);
    advance(2 * DAY);
    expect(await swept(upload.id)).toBe(true);
    expect(await keysBelow(upload.id)).toEqual([]);
  });

  test("a version's file delays no removal of others, and is removed with its account", async () => {
    const world = await newWorld();
    const { upload } = await weighed(world);
    const other = await uploaded(world.client);
    advance(31 * DAY);
    expect([await swept(other.id), await uploadRow(upload.id)]).toMatchObject([
      true,
      { removed_at: null },
    ]);
    await closeAccount(services.db, world.user_id, Date.now(), {
      deleted: anEntry(),
      left: anEntry(),
    });
    advance(1);
    expect(await swept(upload.id)).toBe(true);
    expect(await keysBelow(upload.id)).toEqual([]);
  });

  test("a version published while its file is deleted is refused, or the file stays", async () => {
    const world = await newWorld();
    for (let times = 0; times < 5; times++) {
      const { id } = await uploaded(world.client);
      const body = { ...VERSION, ...weightsAt(id) };
      const [published, deleted] = await Promise.all([
        world.client.refused(`/v1/models/${world.model}/versions`, body),
        world.client.json("DELETE", `/v1/uploads/${id}`),
      ]);
      const row = await uploadRow(id);
      if (published.status === 200) expect([deleted.status, row?.removed_at]).toEqual([409, null]);
      else expect([published.status, deleted.status, row]).toEqual([422, 200, null]);
    }
  });
});
