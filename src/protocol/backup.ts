/** Backups in the operator's API. */
import { z } from "zod";
import { integerText, orNull, timestamp, uuid } from "./common.ts";

const ID = "019ab4c2-7f31-7d52-8e0b-5a1c9e42d7f0";

export const backup = z
  .object({
    id: uuid.meta({ example: ID }),
    started_at: timestamp,
    finished_at: timestamp,
    parts: z.int().meta({ description: "Without part 0, the manifest", example: 24 }),
    rows: z.int().meta({ example: 18_204 }),
    bytes: z.int().meta({ description: "Size of its parts", example: 1_310_720 }),
  })
  .meta({ id: "Backup", description: "A whole backup, encrypted with BACKUP_KEY" });
export type Backup = z.infer<typeof backup>;

export const backupUnderWay = z
  .object({
    id: uuid.meta({ example: ID }),
    started_at: timestamp,
    parts: z.int().meta({ description: "How many are written so far", example: 7 }),
  })
  .meta({ id: "BackupUnderWay", description: "A backup that is being made" });
export type BackupUnderWay = z.infer<typeof backupUnderWay>;

export const backupList = z
  .object({
    enabled: z.boolean().meta({ description: "Whether BACKUP_KEY is set, and long enough" }),
    under_way: orNull(backupUnderWay),
    backups: z.array(backup).meta({ description: "Those that are whole, newest first" }),
  })
  .meta({ id: "BackupList" });
export type BackupList = z.infer<typeof backupList>;

export const leftOut = z
  .object({
    table: z.string().meta({ example: "tokens" }),
    key: z.string().meta({ description: "Its primary key, as JSON", example: `["${ID}"]` }),
    reason: z.string().meta({ example: "it refers to something that is not there" }),
  })
  .meta({ id: "LeftOutRow", description: "A row that was not restored" });

export const setAgain = z
  .object({
    variables: z.array(
      z.object({ model: z.string().meta({ example: "ada/story" }), name: z.string() }),
    ),
    webhook_endpoints: z.array(
      z.object({ owner: z.string().meta({ example: "ada" }), url: z.string() }),
    ),
  })
  .meta({
    id: "SetAgain",
    description:
      "What was encrypted with a SECRET_KEY that this deployment does not have: up to 1,000 of each",
  });
export type SetAgain = z.infer<typeof setAgain>;

export const restoreState = z
  .object({
    id: uuid.meta({ description: "The backup", example: ID }),
    done: z.boolean().meta({ description: "Otherwise call again: each call restores some parts" }),
    parts: z.int().meta({ description: "Parts of the backup", example: 24 }),
    restored_parts: z.int().meta({ example: 24 }),
    rows: z.int().meta({ description: "Rows restored so far", example: 18_204 }),
    left_out: z.int().meta({ description: "Rows that were not restored", example: 0 }),
    examples: z.array(leftOut).meta({ description: "The first 100 of them" }),
    accounts_left_out: z.array(z.string()).meta({
      description: "Ids of accounts whose predictions and usage the backup does not have",
    }),
    set_again: setAgain,
  })
  .meta({ id: "RestoreState" });
export type RestoreState = z.infer<typeof restoreState>;

export const oneBackup = z.object({ backup_id: uuid.meta({ example: ID }) });

export const onePart = oneBackup.extend({
  part_number: integerText(0, 1_000_000).meta({ description: "0: the manifest" }),
});
