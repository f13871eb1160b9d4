/** Which tables of the database are in a backup. */
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import * as schema from "../schema/index.ts";

/** Rows of a page: of a large version or a long overview, 100 KB each, fewer. */
const ROWS = 1_000;
const LARGE_ROWS = 20;

interface Reference {
  columns: string[];
  table: string;
  foreign: string[];
}

export interface BackupTable {
  table: SQLiteTable;
  name: string;
  columns: string[];
  key: string[];
  references: Reference[];
  pageRows: number;
}

/** In the order of a restore: what a row refers to comes before it. */
export const BACKUP_TABLES: BackupTable[] = [
  described(schema.categories),
  described(schema.pools),
  described(schema.hardware),
  described(schema.users),
  described(schema.usernames),
  described(schema.releasedUsernames),
  described(schema.tokens),
  // Before versions, which a trigger tells to keep the uploads that they name.
  described(schema.uploads),
  described(schema.uploadParts),
  described(schema.models, LARGE_ROWS),
  described(schema.modelCategories),
  described(schema.versions, LARGE_ROWS),
  described(schema.modelVariables, LARGE_ROWS),
  described(schema.examples, LARGE_ROWS),
  // Before what it releases: it goes last, so whatever a backup has of a deleted model is still to be released.
  described(schema.registryReleased),
  described(schema.registryBlobs),
  described(schema.registryLinks),
  described(schema.registryManifests),
  described(schema.registryReferences),
  described(schema.registryTags),
  described(schema.registryHolds),
  described(schema.accountCounts),
  // After what they are the sums of: models keep counting the predictions of deleted accounts.
  described(schema.modelCounts),
  described(schema.webhookEndpoints),
  described(schema.logins),
  described(schema.credentials),
  described(schema.passkeys),
  described(schema.invitations),
  described(schema.runnerTokens),
  described(schema.runners),
];

/** The others, and why they are not in it. */
export const NOT_BACKED_UP: Record<string, string> = {
  account_bytes: "triggers add it up again",
  file_bytes: "triggers add it up again",
  registry_bytes: "triggers add it up again",
  registry_uploads: "begun again by whoever pushes",
  registry_upload_parts: "begun again by whoever pushes",
  registry_garbage: "of the bucket of this deployment",
  listings: "triggers make it again",
  version_files: "triggers make it again",
  models_words: "triggers fill the search indexes again",
  users_words: "triggers fill the search indexes again",
  words: "triggers fill the search indexes again",
  words_trigrams: "triggers fill the search indexes again",
  reading_index: "always empty",
  reading_words: "always empty",
  keys: "each deployment has its own",
  sessions: "users sign in again, so that none comes back that was signed out since",
  shares: "given out again by their owners, so that none comes back that was revoked since",
  verifications: "sign-ins that were under way",
  sign_up_attempts: "of one day",
  backup_runs: "of this deployment",
  backup_parts: "of this deployment",
};

export const backupTable = (name: string): BackupTable | undefined =>
  BACKUP_TABLES.find((table) => table.name === name);

function described(table: SQLiteTable, pageRows = ROWS): BackupTable {
  const { name, columns, primaryKeys, foreignKeys } = getTableConfig(table);
  const [composite] = primaryKeys;
  return {
    table,
    name,
    columns: columns.map(snakeCase),
    key: (composite?.columns ?? columns.filter(({ primary }) => primary)).map(snakeCase),
    references: foreignKeys.map((key) => {
      const { columns, foreignTable, foreignColumns } = key.reference();
      return {
        columns: columns.map(snakeCase),
        table: getTableConfig(foreignTable).name,
        foreign: foreignColumns.map(snakeCase),
      };
    }),
    pageRows,
  };
}

/** As the database has it (storage/database.ts): `credentialID` is `credential_id`. */
function snakeCase({ name }: { name: string }): string {
  return name.replace(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`);
}
