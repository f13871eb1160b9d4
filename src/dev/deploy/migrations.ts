/**
 * Applies the pending migrations, and records them as `wrangler d1 migrations` does.
 *
 * Each migration goes as one file through D1's import, which runs it in one transaction. All go together into
 * an empty database, where they have no rows to change, since each start of wrangler takes a second.
 * `wrangler d1 migrations apply --remote` posts a file to D1's query endpoint instead, which cuts it into
 * statements by rules of its own: files with triggers fail there with "incomplete input" (workers-sdk 10998,
 * 15314, 15690).
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ROOT } from "../bundle.ts";
import { STATE_FOLDER } from "../state.ts";
import { type Cloudflare, CloudflareRefused } from "./cloudflare.ts";
import type { Step } from "./step.ts";

const FOLDER = join(ROOT, "migrations");
const FILES = join(STATE_FOLDER, "deploy");

const TABLE =
  "CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)";

/** @param folder of the migrations; only tests set it */
export const migrations = (folder = FOLDER): Step => ({
  title: "Migrations",
  async run({ cloudflare, configuration: { database }, note, change }) {
    const applied = (await appliedMigrations(cloudflare, database)) ?? [];
    const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
    const unknown = applied.filter((name) => !names.includes(name));
    if (unknown.length > 0) {
      throw new Error(
        `The database has migrations that this version of Auspex does not: ${unknown.join(", ")}. Deploy the last deployed version, or a later one.`,
      );
    }
    const pending = names.filter((name) => !applied.includes(name));
    if (pending.length === 0) return note("none pending");
    const together = applied.length === 0 ? [pending] : pending.map((name) => [name]);
    for (const some of together) {
      await change(`apply ${some.join(", ")}`, async () => {
        const file = await recordedMigrations(folder, some);
        await cloudflare.wrangler(["d1", "execute", database, "--remote", "--yes", "--file", file]);
      });
    }
  },
});

const rows = z.tuple([z.object({ results: z.array(z.object({ name: z.string() })) })]);

const NO_DATABASE = 7404;

/** @param name also its id */
export const findDatabase = (cloudflare: Cloudflare, name: string) =>
  cloudflare.find(`/d1/database/${name}`, [NO_DATABASE], {
    shape: z.object({ uuid: z.string() }),
  });

/** Returns the names of applied migrations; undefined if there is no database. */
export async function appliedMigrations(
  cloudflare: Cloudflare,
  database: string,
): Promise<string[] | undefined> {
  const found = await findDatabase(cloudflare, database);
  if (!found) return undefined;
  const sql = "SELECT name FROM d1_migrations ORDER BY id";
  try {
    const path = `/d1/database/${found.uuid}/query`;
    const [{ results }] = await cloudflare.call("POST", path, { shape: rows, body: { sql } });
    return results.map(({ name }) => name);
  } catch (error) {
    const isEmpty =
      error instanceof CloudflareRefused && /no such table: d1_migrations/.test(error.message);
    if (isEmpty) return [];
    throw error;
  }
}

/** Returns a file that applies and records migrations, all or none. It fails for a recorded one. */
async function recordedMigrations(folder: string, names: string[]): Promise<string> {
  const texts = names.map(async (name) => {
    const record = `INSERT INTO d1_migrations (name) VALUES ('${name.replaceAll("'", "''")}');`;
    return [record, await readFile(join(folder, name), "utf8")];
  });
  const file = join(FILES, names.at(-1) ?? "none.sql");
  await mkdir(FILES, { recursive: true });
  await writeFile(file, [`${TABLE};`, ...(await Promise.all(texts)).flat()].join("\n"));
  return file;
}
