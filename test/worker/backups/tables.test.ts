/** Tables and columns, each of which must be in backups or listed as left out. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { ACCOUNT_TABLE_NAMES, ACCOUNT_TABLES } from "../../../src/domain/backups/progress.ts";
import { accountFacts } from "../../../src/protocol/backup.ts";
import { BACKUP_TABLES, NOT_BACKED_UP } from "../../../src/storage/backups/tables.ts";
import { run } from "../support/accounts.ts";
import { tableNames } from "../support/backups.ts";

/** The tables of an account's object that are not in a backup, with the reasons. */
const NOT_BACKED_UP_OF_ACCOUNT: Record<string, string> = {
  conversations: "which objects its conversations are: these are in no backup either",
  files: "what predictions have in R2, which is in no backup either",
  keys: "Idempotency-Keys, of one day",
  reservations: "predictions that had not ended have failed, and nothing is reserved for them",
  deliveries: "the objects of the predictions are new, and know of no deliveries",
  removals: "when data of short runs is removed, of which nothing is left after a restore",
};

test("every table of the database is backed up or listed as left out", async () => {
  const named = [...BACKUP_TABLES.map(({ name }) => name), ...Object.keys(NOT_BACKED_UP)];
  expect((await tableNames()).toSorted()).toEqual(named.toSorted());
});

test.each(BACKUP_TABLES)(
  "the backup's columns, key and references of $name match the database",
  async (table) => {
    const columns = await run(
      `SELECT name, pk FROM pragma_table_info('${table.name}') ORDER BY cid`,
    );
    expect(table.columns.toSorted()).toEqual(columns.map(({ name }) => name).toSorted());
    const key = columns
      .filter(({ pk }) => pk !== 0)
      .toSorted((a, b) => Number(a.pk) - Number(b.pk));
    expect(table.key).toEqual(key.map(({ name }) => name));
    const references = await run(
      `SELECT "from", "table", "to" FROM pragma_foreign_key_list('${table.name}')`,
    );
    const known = table.references.flatMap(({ columns, table, foreign }) =>
      columns.map((from, n) => ({ from, table, to: foreign[n] })),
    );
    expect(known).toEqual(expect.arrayContaining(references));
    expect(known.length).toBe(references.length);
    const at = BACKUP_TABLES.indexOf(table);
    for (const { table: parent } of table.references)
      expect(BACKUP_TABLES.slice(0, at).map(({ name }) => name)).toContain(parent);
  },
);

test("every table, column and fact of an account object is copied or listed as left out", async () => {
  const account = env.ACCOUNT.get(env.ACCOUNT.newUniqueId());
  await account.find("none");
  await runInDurableObject(account, (_, { storage }) => {
    const rows = (sql: string) =>
      storage.sql
        .exec<{ name: string }>(sql)
        .toArray()
        .map(({ name }) => name);
    const tables = rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
    );
    expect(tables.toSorted()).toEqual(
      [...ACCOUNT_TABLE_NAMES, ...Object.keys(NOT_BACKED_UP_OF_ACCOUNT)].toSorted(),
    );
    // Metrics are not restored: what was counted before is with the collector, and must not count again.
    for (const name of ACCOUNT_TABLE_NAMES)
      expect(ACCOUNT_TABLES[name].columns).toEqual(
        rows(`SELECT name FROM pragma_table_info('${name}') WHERE name <> 'measures'`),
      );
  });
  expect(Object.keys(accountFacts.shape)).toEqual(["history_end", "trimmed_to", "open_from"]);
});
