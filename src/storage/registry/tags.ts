/** Tags: names of manifests, which move. */
import { and, asc, eq, gt } from "drizzle-orm";
import type { Database } from "../database.ts";
import { registryTags } from "../schema/index.ts";

export interface NewTag {
  model_id: string;
  tag: string;
  digest: string;
  user_id: string;
  now: number;
}

/** Moves the tag, if it exists. */
export const tagging = (db: Database, { now, ...row }: NewTag) =>
  db
    .insert(registryTags)
    .values({ ...row, updated_at: now })
    .onConflictDoUpdate({
      target: [registryTags.model_id, registryTags.tag],
      set: { digest: row.digest, updated_at: now },
    });

/** Lists tags, sorted bytewise, as OCI wants it. @param last the tag after which they begin */
export const listTags = (db: Database, modelId: string, last: string, limit: number) =>
  db
    .select({
      tag: registryTags.tag,
      digest: registryTags.digest,
      updated_at: registryTags.updated_at,
    })
    .from(registryTags)
    .where(and(eq(registryTags.model_id, modelId), gt(registryTags.tag, last)))
    .orderBy(asc(registryTags.tag))
    .limit(limit)
    .all();

/** @returns whether the tag existed */
export async function deleteTag(db: Database, modelId: string, tag: string): Promise<boolean> {
  const { meta } = await db
    .delete(registryTags)
    .where(and(eq(registryTags.model_id, modelId), eq(registryTags.tag, tag)));
  return meta.changes > 0;
}
