/** Rows encrypted with certain keys, found by the prefix of the ciphertext (domain/encryption.ts). */
import { and, eq, not, sql } from "drizzle-orm";
import type { Database } from "./database.ts";
import type { VariableRow } from "./models/variables.ts";
import { models, modelVariables, users, webhookEndpoints } from "./schema/index.ts";

/** Whether a text begins with one of these marks: `v1.`, a key id of 8 digits, and a dot. */
const begin = (text: ReturnType<typeof sql>, marks: string[]) =>
  sql`substr(${text}, 1, 12) IN (SELECT value FROM json_each(${JSON.stringify(marks)}))`;

export const findVariablesEncryptedWith = (db: Database, marks: string[], limit: number) =>
  db
    .select()
    .from(modelVariables)
    .where(begin(sql`${modelVariables.sealed}`, marks))
    .limit(limit)
    .all();

/** Replaces the value unless the variable was set in the meantime. */
export const replaceEncrypted = (
  db: Database,
  { model_id, name, sealed }: VariableRow,
  replaced: string,
) =>
  db
    .update(modelVariables)
    .set({ sealed: replaced })
    .where(
      and(
        eq(modelVariables.model_id, model_id),
        eq(modelVariables.name, name),
        eq(modelVariables.sealed, sealed),
      ),
    );

export const findEndpointsEncryptedWith = (db: Database, marks: string[], limit: number) =>
  db
    .select()
    .from(webhookEndpoints)
    .where(
      sql`EXISTS (SELECT 1 FROM json_each(${webhookEndpoints.secrets}) AS one
        WHERE ${begin(sql`one.value ->> 'secret'`, marks)})`,
    )
    .limit(limit)
    .all();

/** Finds variables that none of these keys has encrypted, with the names of their models. */
export const findVariablesNotEncryptedWith = (db: Database, marks: string[], limit: number) =>
  db
    .select({ owner: users.username, model: models.name, name: modelVariables.name })
    .from(modelVariables)
    .innerJoin(models, eq(models.id, modelVariables.model_id))
    .innerJoin(users, eq(users.id, models.owner_id))
    .where(not(begin(sql`${modelVariables.sealed}`, marks)))
    .limit(limit)
    .all();

/** Finds endpoints with a secret that none of these keys has encrypted. */
export const findEndpointsNotEncryptedWith = (db: Database, marks: string[], limit: number) =>
  db
    .select({ owner: users.username, url: webhookEndpoints.url })
    .from(webhookEndpoints)
    .innerJoin(users, eq(users.id, webhookEndpoints.user_id))
    .where(
      sql`EXISTS (SELECT 1 FROM json_each(${webhookEndpoints.secrets}) AS one
        WHERE one.value ->> 'encrypted' AND NOT ${begin(sql`one.value ->> 'secret'`, marks)})`,
    )
    .limit(limit)
    .all();
