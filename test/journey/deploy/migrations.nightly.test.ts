/** Every migration in the folder, applied by wrangler to a remote database and to a local one. */
import { globSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ROOT } from "../../../src/dev/bundle.ts";
import { migrations } from "../../../src/dev/deploy/migrations.ts";
import { Cloudflare } from "./support/cloudflare.ts";
import { Terminal } from "./support/terminal.ts";

const FOLDER = join(ROOT, "migrations");
const NAMES = readdirSync(FOLDER).filter((name) => name.endsWith(".sql"));

let cloudflare: Cloudflare;
let terminal: Terminal;
let remote: DatabaseSync;

beforeEach(async () => {
  cloudflare = await Cloudflare.open();
  terminal = new Terminal(cloudflare.environment);
  remote = cloudflare.account.addDatabase("auspex").sqlite;
});
afterEach(async () => {
  terminal.close();
  await cloudflare.close();
});

/** Returns the schema without the tables that wrangler and D1 add for themselves. */
const schemaOf = (sqlite: DatabaseSync) =>
  sqlite
    .prepare(
      "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' AND name <> 'd1_migrations' ORDER BY type, name",
    )
    .all();
const appliedIn = (sqlite: DatabaseSync) =>
  sqlite.prepare("SELECT name FROM d1_migrations ORDER BY id").all();

test("a remote database gets the schema of a local one, and wrangler knows its migrations", async () => {
  await terminal.run(migrations());
  const local = join(terminal.folder, "local");
  const apply = ["d1", "migrations", "apply", "auspex", "--local", "--persist-to", local];
  await terminal.wrangler(apply);
  const [file] = globSync("v3/d1/**/*.sqlite", { cwd: local }).filter(
    (name) => !name.endsWith("metadata.sqlite"),
  );
  const sqlite = new DatabaseSync(join(local, String(file)), { readOnly: true });
  expect(schemaOf(remote)).toEqual(schemaOf(sqlite));
  expect(schemaOf(sqlite).filter(({ type }) => type === "trigger").length).toBeGreaterThan(20);
  expect(appliedIn(remote)).toEqual(appliedIn(sqlite));
  expect(appliedIn(sqlite)).toEqual(NAMES.sort().map((name) => ({ name })));
  sqlite.close();
  remote.exec(
    "INSERT INTO users (id, username, name, avatar_url, created_at, updated_at) VALUES ('u', 'ada', 'Ada', '', 0, 0)",
  );
  expect(remote.prepare("SELECT word FROM words").all()).toEqual([{ word: "ada" }]);
  expect(await terminal.wrangler(["d1", "migrations", "list", "auspex", "--remote"])).toContain(
    "No migrations to apply",
  );
});

/** Makes a folder of migrations with these files. */
function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(terminal.folder, "migrations-"));
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(folder, name), sql);
  return folder;
}

const FIRST = "CREATE TABLE first (id);";
/** A migration on which a naive split into statements fails. */
const SECOND = `CREATE TABLE second (id, said TEXT DEFAULT 'BEGIN; END;');
--> statement-breakpoint
CREATE TRIGGER seconds AFTER INSERT ON second BEGIN
\tUPDATE second SET said = CASE WHEN id = 1 THEN 'one; END' ELSE 'more' END; -- END;
\tDELETE FROM second WHERE id = 2;
END;`;

test("an update applies new migrations only, and an older version leaves the database unchanged", async () => {
  const old = folderWith({ "0000_first.sql": FIRST });
  const later = folderWith({ "0000_first.sql": FIRST, "0001_second.sql": SECOND });
  await terminal.run(migrations(old));
  expect(await terminal.run(migrations(later))).not.toContain("0000_first.sql");
  remote.exec("INSERT INTO second (id) VALUES (1), (2)");
  expect(remote.prepare("SELECT * FROM second").all()).toEqual([{ id: 1, said: "one; END" }]);
  expect(await terminal.run(migrations(later))).toContain("none pending");
  await expect(terminal.run(migrations(old))).rejects.toThrow(/does not: 0001_second.sql/);
});

test("a migration that fails leaves nothing, and is not recorded", async () => {
  const broken = "CREATE TABLE second (id);\nINSERT INTO missing VALUES (1);";
  const first = folderWith({ "0000_first.sql": FIRST });
  const both = folderWith({ "0000_first.sql": FIRST, "0001_second.sql": broken });
  // The migrations of an empty database go in one file, and fail together.
  await expect(terminal.run(migrations(both))).rejects.toThrow(/no such table: missing/);
  expect(schemaOf(remote)).toEqual([]);
  await terminal.run(migrations(first));
  await expect(terminal.run(migrations(both))).rejects.toThrow(/no such table: missing/);
  expect(appliedIn(remote)).toEqual([{ name: "0000_first.sql" }]);
  expect(schemaOf(remote).map(({ name }) => name)).toEqual(["first"]);
});
