/**
 * What lies in the state folder of a deployment that has stopped, where nobody sees it over the API:
 * objects, alarms, waiting jobs, stored files. The layout is that of Miniflare and workerd: a folder
 * for each class, with a database for each object and one, `metadata`, with the alarms of all.
 */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import { z } from "zod";
import type { Leftover } from "../history.ts";

/** An alarm that is late by less may just have been about to go off, ms. */
const LATE_MS = 20_000;
const NS_PER_MS = 1_000_000n;

const named = z.object({ spec: z.object({ id: z.uuid() }) });

/**
 * @param known ids of predictions that are listed: of these a record may be kept for its key or for
 * late files, as long as it has an alarm that ends it
 */
export function leftoversIn(stateFolder: string, known: ReadonlySet<string>): Leftover[] {
  return [
    ...alarmsIn(stateFolder),
    ...predictionsIn(stateFolder, known),
    ...waitingIn(stateFolder),
    ...storedIn(stateFolder),
  ];
}

const classFolder = (state: string, name: string) => join(state, "do", `auspex-${name}`);

/** The database of each object of a class. */
function databasesIn(folder: string): { name: string; db: DatabaseSync }[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".sqlite"));
  return files
    .filter((file) => file !== "metadata.sqlite")
    .map((file) => ({ name: basename(file, ".sqlite"), db: new DatabaseSync(join(folder, file)) }));
}

/** When each object's alarm is due, unix ms, by the object's id. */
function alarmsOf(state: string, name: string): Map<string, number> {
  using db = new DatabaseSync(join(classFolder(state, name), "metadata.sqlite"));
  const alarms = db.prepare("SELECT actor_id, scheduled_time FROM _cf_ALARM");
  alarms.setReadBigInts(true);
  const row = z.object({ actor_id: z.string(), scheduled_time: z.bigint() });
  return new Map(
    alarms
      .all()
      .map((one) => row.parse(one))
      .map(({ actor_id, scheduled_time }) => [actor_id, Number(scheduled_time / NS_PER_MS)]),
  );
}

function alarmsIn(state: string): Leftover[] {
  const now = Date.now();
  return ["PredictionObject", "AccountObject", "PoolObject", "RunnerObject"].flatMap((name) =>
    [...alarmsOf(state, name)]
      .filter(([, at]) => at < now - LATE_MS)
      .map(([id, at]): Leftover => {
        const late = Math.round((now - at) / 1_000);
        return { what: "overdue alarm", where: `${name} ${id}, ${late} s late` };
      }),
  );
}

/** Whatever an object has stored must be of a prediction that is known, and come to its end. */
function predictionsIn(state: string, known: ReadonlySet<string>): Leftover[] {
  const alarms = alarmsOf(state, "PredictionObject");
  return databasesIn(classFolder(state, "PredictionObject")).flatMap(({ name, db }): Leftover[] => {
    using database = db;
    const values = tables(database).includes("_cf_KV")
      ? database.prepare("SELECT key, value FROM _cf_KV").all()
      : [];
    if (values.length === 0) return [];
    const request = values.find(({ key }) => key === "request")?.value;
    const id =
      request instanceof Uint8Array ? named.parse(deserialize(request)).spec.id : undefined;
    const keys = values.map(({ key }) => key).join(", ");
    const where = `${name} (${id ?? "no prediction"}): ${keys}`;
    if (!alarms.has(name)) return [{ what: "prediction object", where: `${where}; no alarm` }];
    if (id !== undefined && !known.has(id)) return [{ what: "prediction object", where }];
    return [];
  });
}

function waitingIn(state: string): Leftover[] {
  return databasesIn(classFolder(state, "PoolObject")).flatMap(({ name, db }): Leftover[] => {
    using database = db;
    if (!tables(database).includes("waiting")) return [];
    return database
      .prepare("SELECT object_id FROM waiting")
      .all()
      .map(({ object_id }) => ({ what: "waiting job", where: `${object_id} in pool ${name}` }));
  });
}

function storedIn(state: string): Leftover[] {
  const folder = join(state, "r2", "miniflare-R2BucketObject");
  return databasesIn(folder).flatMap(({ db }): Leftover[] => {
    using database = db;
    const objects = database.prepare("SELECT key FROM _mf_objects").all();
    // Of those that were ended or given up the row stays.
    const uploads = database.prepare("SELECT key FROM _mf_multipart_uploads WHERE state = 0").all();
    return [
      ...objects.map(({ key }): Leftover => ({ what: "stored file", where: String(key) })),
      ...uploads.map(({ key }): Leftover => ({ what: "upload under way", where: String(key) })),
    ];
  });
}

const tables = (db: DatabaseSync) =>
  db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all()
    .map(({ name }) => name);
