/** Query plans of an export: each page is a range of an index, also the last one. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/durable-sqlite";
import { describe, expect, test } from "vitest";
import type { Key } from "../../../src/domain/cursor.ts";
import { selectUsagePage } from "../../../src/objects/account/counters.ts";
import { openAccount } from "../../../src/services/access/accounts.ts";
import { getServices } from "../../../src/services/services.ts";
import { listOwnUploads } from "../../../src/storage/files/uploads.ts";
import type { Keyset } from "../../../src/storage/keyset.ts";
import { listDetailedModels } from "../../../src/storage/models/models.ts";
import { listVariableNames } from "../../../src/storage/models/variables.ts";
import { listVersionsOfOwner } from "../../../src/storage/models/versions.ts";
import { accountOf } from "../support/objects.ts";
import { db, newRows, plansOf } from "../support/query-plans.ts";

const { user_id } = await newRows();

const FIRST: Keyset = { from: undefined, back: false, limit: 20 };
const beyond = (...key: Key): Keyset => ({ ...FIRST, from: { key, inclusive: false } });

const VERSIONS = "SEARCH versions USING INDEX sqlite_autoindex_versions_1 (model_id=?)";
const EXPIRES = "SEARCH uploads USING INDEX uploads_expires";
const LAST_TERM = "USE TEMP B-TREE FOR LAST TERM OF ORDER BY";

describe("an export", () => {
  test.each([
    [FIRST, "(owner_id=?)"],
    [beyond("m1"), "(owner_id=? AND id<?)"],
  ])("models are found in their owner's index", async (keyset, within) => {
    const [plan = []] = await plansOf(async () => listDetailedModels(db, user_id, keyset));
    expect(plan).toContain(`SEARCH models USING INDEX models_owner ${within}`);
    expect(plan.filter((step) => !/^(CORRELATED SCALAR|SEARCH)/.test(step))).toEqual([]);
  });

  test.each([
    [FIRST, "(owner_id=?)"],
    [beyond("m1", 2), "(owner_id=? AND id>?)"],
  ])("versions are found in the order of their key", async (keyset, within) => {
    const owned = `SEARCH models USING COVERING INDEX models_owner ${within}`;
    expect(await plansOf(async () => listVersionsOfOwner(db, user_id, keyset))).toEqual([
      [VERSIONS, "LIST SUBQUERY 1", owned],
    ]);
  });

  test("names of variables are found in their key", async () => {
    expect(await plansOf(async () => listVariableNames(db, ["m1", "m2"]))).toEqual([
      [
        "SEARCH model_variables USING COVERING INDEX sqlite_autoindex_model_variables_1 (model_id=?)",
      ],
    ]);
  });

  test.each([
    [FIRST, "(user_id=?)"],
    [beyond(1, "u1"), "(user_id=? AND expires_at>?)"],
  ])(
    "uploads are found by their expiry, which few share in one millisecond",
    async (keyset, within) => {
      expect(await plansOf(async () => listOwnUploads(db, user_id, keyset))).toEqual([
        [`${EXPIRES} ${within}`, LAST_TERM],
      ]);
    },
  );

  test.each([
    [FIRST, "SCAN usage"],
    [
      beyond("2026-11-15", "m1", "t1"),
      "SEARCH usage USING PRIMARY KEY ((day,model_id,token_id)>(?,?,?))",
    ],
  ])("usage is found in its table", async (keyset, plan) => {
    await openAccount(getServices(env), user_id);
    const account = (await accountOf(user_id)) ?? expect.fail("it has no object");
    const found = await runInDurableObject(account, (_, { storage }) => {
      const { sql, params } = selectUsagePage(drizzle(storage), keyset).toSQL();
      return storage.sql
        .exec<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...params.map(String))
        .toArray()
        .map(({ detail }) => detail);
    });
    expect(found).toEqual([plan]);
  });
});
