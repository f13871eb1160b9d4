/** The images of an account, which were pushed to any of its models, newest first. */
import { and, eq, max, type SQL, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { models, registryHolds, registryManifests } from "../schema/index.ts";

/** The limits of what is shown of each image of a page. */
export interface Shown {
  tags: number;
  versions: number;
  /**
   * The manifests and blobs that an image may name, directly or not: the size of one that names more is not
   * computed. An index of many may name 100,000.
   */
  named: number;
}

export interface AccountImageRow {
  model_id: string;
  digest: string;
  media_type: string;
  pushed_at: number;
  /** The name of the model; null: it was deleted, and its images are removed by the sweep. */
  name: string | null;
  /** The first tags, as JSON. */
  tags: string;
  versions: string;
  /** The time until which predictions of a deleted version may need the image. */
  held_until: number | null;
  /** The size of the image with all its parts; null: it names more than `Shown.named`. */
  bytes: number | null;
  /** Whether another manifest names it, or it is attached to one. */
  is_part: number;
}

/** The model of the outer statement's manifest, for correlated subqueries. */
const MODEL = sql`registry_manifests.model_id`;
const DIGEST = sql`registry_manifests.digest`;

const some = (column: SQL, from: SQL, limit: number) => sql<string>`(
  SELECT json_group_array(value) FROM (SELECT ${column} AS value ${from} LIMIT ${limit}))`;

/**
 * How many parts a manifest names, together with those that its manifests name. Beyond the limit these are
 * not looked up.
 */
const named = (
  limit: number,
) => sql`iif(registry_manifests.named > ${limit}, registry_manifests.named,
  registry_manifests.named + coalesce((SELECT sum(one.named) FROM registry_references AS of
    CROSS JOIN registry_manifests AS one ON one.model_id = ${MODEL} AND one.digest = of.digest
    WHERE of.model_id = ${MODEL} AND of.manifest = ${DIGEST}), 0))`;

/**
 * The sum of the sizes of all parts, each counted once. The parts of an index of indexes, which nobody makes,
 * are counted only in part: with each level the bound on what is read would be lost.
 */
const bytesOf = (limit: number) => sql<number | null>`iif(${named(limit)} > ${limit}, NULL, (
  WITH every (digest) AS (SELECT ${DIGEST}
    UNION ALL SELECT of.digest FROM registry_references AS of
      WHERE of.model_id = ${MODEL} AND of.manifest = ${DIGEST}
    UNION ALL SELECT deep.digest FROM registry_references AS of CROSS JOIN registry_references AS deep
      ON deep.model_id = ${MODEL} AND deep.manifest = of.digest
      WHERE of.model_id = ${MODEL} AND of.manifest = ${DIGEST}),
    part AS (SELECT DISTINCT digest FROM every)
  SELECT coalesce(sum(coalesce(
    (SELECT link.size FROM registry_links AS link WHERE link.model_id = ${MODEL} AND link.digest = part.digest),
    (SELECT one.size FROM registry_manifests AS one WHERE one.model_id = ${MODEL} AND one.digest = part.digest))), 0)
  FROM part))`;

/** Lists all manifests, including those that are parts of others. */
export function listAccountImages(
  db: Database,
  userId: string,
  keyset: Keyset,
  shown: Shown,
): Promise<AccountImageRow[]> {
  const { pushed_at, model_id, digest } = registryManifests;
  const { where, order, limit } = range([pushed_at, model_id, digest], "desc", keyset);
  return db
    .select({
      model_id,
      digest,
      media_type: registryManifests.media_type,
      pushed_at,
      name: models.name,
      tags: some(
        sql`tag`,
        sql`FROM registry_tags WHERE model_id = ${MODEL} AND digest = ${DIGEST}`,
        shown.tags,
      ),
      versions: some(
        sql`number`,
        sql`FROM versions WHERE model_id = ${MODEL} AND container_image_digest = ${DIGEST} ORDER BY number DESC`,
        shown.versions,
      ),
      held_until: sql<number | null>`(${db
        .select({ until: max(registryHolds.until) })
        .from(registryHolds)
        .where(
          sql`${registryHolds.model_id} = ${MODEL} AND ${registryHolds.digest} = ${DIGEST}`,
        )})`,
      bytes: bytesOf(shown.named),
      is_part: sql<number>`(subject IS NOT NULL OR EXISTS (SELECT 1 FROM registry_references AS naming
        WHERE naming.model_id = ${MODEL} AND naming.digest = ${DIGEST}))`,
    })
    .from(registryManifests)
    .leftJoin(models, eq(models.id, model_id))
    .where(and(eq(registryManifests.user_id, userId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}
