/** The query plans of backups and restores, whose cost must not depend on the size of the database. */
import { expect, test } from "vitest";
import { checkRows, listAccountObjects, selectRows } from "../../../src/storage/backups/rows.ts";
import { BACKUP_TABLES } from "../../../src/storage/backups/tables.ts";
import { db, newRows, plansOf } from "../support/query-plans.ts";

await newRows();

test.each(BACKUP_TABLES)("pages of $name are ranges of its key", async (table) => {
  const after = table.key.map(() => "a");
  const [[step = "none", ...others] = []] = await plansOf(() => selectRows(db, table, after));
  expect(step).toMatch(
    new RegExp(
      `^SEARCH ${table.name} USING (?:PRIMARY KEY|(?:COVERING )?INDEX sqlite_autoindex_${table.name}_1) `,
    ),
  );
  expect(others).toEqual([]);
});

test.each(BACKUP_TABLES)(
  "rows of $name and their references are looked up by index",
  async (table) => {
    const [plan = []] = await plansOf(() => checkRows(db, table, []));
    const steps = plan.filter((step) => !/^(?:CORRELATED|SCAN given VIRTUAL)/.test(step));
    expect(steps.length).toBeGreaterThan(table.references.length);
    for (const step of steps)
      expect(step).toMatch(/^SEARCH \w+ (?:EXISTS )?USING (?:COVERING INDEX|INDEX|PRIMARY KEY)/);
  },
);

test("accounts are read as a range of the users", async () => {
  const [plan] = await plansOf(() => listAccountObjects(db, "a", true, 10));
  expect(plan).toEqual(["SEARCH users USING INDEX sqlite_autoindex_users_1 (id>?)"]);
});
