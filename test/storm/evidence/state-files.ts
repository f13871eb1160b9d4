/**
 * Leftovers in the state folder of a stopped deployment, which the API does not show: objects, alarms,
 * waiting jobs, stored files. The layout is that of Miniflare and workerd: a folder for each class, with a
 * database for each object and one, `metadata`, with the alarms of all.
 */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import { z } from "zod";
import type { Leftovers } from "../history.ts";

/** The most time that an alarm may be late, ms: it may just have been due. */
const LATE_MS = 20_000;
/**
 * An object that was removed wakes once more, in an hour or a day (forgetAt in domain/predictions/deadlines.ts).
 * An alarm that is due sooner, ms, is one that sets itself again and again.
 */
const SOON_MS = 30 * 60_000;
const NS_PER_MS = 1_000_000n;

const named = z.object({ spec: z.object({ id: z.uuid() }) });
const alarm = z.object({ actor_id: z.string(), scheduled_time: z.bigint() });

/**
 * @param known IDs of listed predictions: their objects may keep a record for their key or for late files, as
 * long as an alarm will remove it
 * @param awaited predictions whose webhooks are still to be delivered
 */
export function leftoversIn(
  state: string,
  known: ReadonlySet<string>,
  awaited: ReadonlySet<string>,
): Leftovers[] {
  const objects = objectsIn(state);
  return [
    alarmsIn(state, objects, awaited),
    predictionsIn(state, objects, known),
    waitingIn(state),
    ...storedIn(state),
  ];
}

interface StoredObject {
  name: string;
  /** The ID of the object's prediction. */
  id: string | undefined;
  /** Keys of the stored values. */
  keys: string[];
}

const classFolder = (state: string, name: string) => join(state, "do", `auspex-${name}`);

/** Reads the database of each object in a folder. */
function fromEach<Of>(folder: string, read: (db: DatabaseSync, name: string) => Of): Of[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".sqlite") && file !== "metadata.sqlite")
    .map((file) => {
      using db = new DatabaseSync(join(folder, file));
      return read(db, basename(file, ".sqlite"));
    });
}

const hasTable = (db: DatabaseSync, name: string) =>
  db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(name) !==
  undefined;

/** Returns the time of each object's alarm, unix ms, by the object's ID. */
function alarmsOf(state: string, name: string): Map<string, number> {
  using db = new DatabaseSync(join(classFolder(state, name), "metadata.sqlite"));
  const alarms = db.prepare("SELECT actor_id, scheduled_time FROM _cf_ALARM");
  alarms.setReadBigInts(true);
  return new Map(
    alarms
      .all()
      .map((row) => alarm.parse(row))
      .map(({ actor_id, scheduled_time }) => [actor_id, Number(scheduled_time / NS_PER_MS)]),
  );
}

function objectsIn(state: string): StoredObject[] {
  return fromEach(classFolder(state, "PredictionObject"), (db, name) => {
    const values = hasTable(db, "_cf_KV") ? db.prepare("SELECT key, value FROM _cf_KV").all() : [];
    const request = values.find(({ key }) => key === "request")?.value;
    const id =
      request instanceof Uint8Array ? named.parse(deserialize(request)).spec.id : undefined;
    return { name, id, keys: values.map(({ key }) => String(key)) };
  });
}

function alarmsIn(state: string, objects: StoredObject[], awaited: ReadonlySet<string>): Leftovers {
  const now = Date.now();
  const isAwaited = new Set(
    objects.filter(({ id }) => id !== undefined && awaited.has(id)).map(({ name }) => name),
  );
  const all = ["PredictionObject", "AccountObject", "PoolObject", "RunnerObject"].flatMap((name) =>
    [...alarmsOf(state, name)].map(([id, at]) => ({ name, id, at })),
  );
  const isEarly = ({ name, id, at }: (typeof all)[number]) =>
    at < (name === "PredictionObject" && !isAwaited.has(id) ? now + SOON_MS : now - LATE_MS);
  const found = all
    .filter(isEarly)
    .map(({ name, id, at }) => `${name} ${id}, due in ${Math.round((at - now) / 1_000)} s`);
  return { what: "alarm that goes on", looked: all.length, found };
}

/** Checks that objects with data belong to a known prediction, and come to their end. */
function predictionsIn(
  state: string,
  objects: StoredObject[],
  known: ReadonlySet<string>,
): Leftovers {
  const alarms = alarmsOf(state, "PredictionObject");
  const found = objects
    .filter(({ keys }) => keys.length > 0)
    .filter(({ name, id }) => !alarms.has(name) || (id !== undefined && !known.has(id)))
    .map(({ name, id, keys }) => {
      const alarm = alarms.has(name) ? "" : " without an alarm";
      return `${name} (${id ?? "no prediction"})${alarm}: ${keys.join(", ")}`;
    });
  return { what: "prediction object", looked: objects.length, found };
}

function waitingIn(state: string): Leftovers {
  const all = fromEach(classFolder(state, "PoolObject"), (db, name) => {
    const rows = hasTable(db, "waiting") ? db.prepare("SELECT object_id FROM waiting").all() : [];
    return rows.map(({ object_id }) => `${object_id} in pool ${name}`);
  });
  return { what: "waiting job", looked: all.length, found: all.flat() };
}

function storedIn(state: string): Leftovers[] {
  const known = uploadsIn(state);
  return fromEach(join(state, "r2", "miniflare-R2BucketObject"), (db): Leftovers[] => {
    const objects = db.prepare("SELECT key FROM _mf_objects").all();
    const uploads = db.prepare(UPLOADS).all();
    const open = uploads.filter(
      ({ upload_id, state, parts }) => state === 0 && (parts !== 0 || known.has(upload_id)),
    );
    const keysOf = (rows: Record<string, unknown>[]) => rows.map(({ key }) => String(key));
    return [
      { what: "stored file", looked: 1, found: keysOf(objects) },
      { what: "upload under way", looked: uploads.length, found: keysOf(open) },
    ];
  }).flat();
}

/**
 * The row of an ended upload stays, in another state. R2 itself ends an upload after 7 days that has no part,
 * and that has no row in D1 because the Worker died in between.
 */
const UPLOADS = `SELECT upload_id, key, state,
  (SELECT count(*) FROM _mf_multipart_parts WHERE upload_id = uploads.upload_id) AS parts
  FROM _mf_multipart_uploads AS uploads`;

const uploadsIn = (state: string): Set<unknown> =>
  new Set(
    fromEach(join(state, "d1", "miniflare-D1DatabaseObject"), (db) =>
      db.prepare("SELECT multipart_id FROM uploads WHERE removed_at IS NULL").all(),
    )
      .flat()
      .map(({ multipart_id }) => multipart_id),
  );
