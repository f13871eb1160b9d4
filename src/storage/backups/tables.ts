/** The tables of the database that a backup has. */
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import * as schema from "../schema/index.ts";

/** Rows of a page. Pages of large versions or long overviews, which have 100 KB each, have fewer. */
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

/** The tables in the order of a restore: rows come after those that they refer to. */
export const BACKUP_TABLES: BackupTable[] = [
  described(schema.categories),
  described(schema.pools),
  described(schema.hardware),
  described(schema.users),
  described(schema.members),
  described(schema.usernames),
  described(schema.releasedUsernames),
  described(schema.tokens),
  described(schema.budgeted),
  // Uploads come before versions: a trigger of versions keeps the uploads that they name.
  described(schema.uploads),
  described(schema.uploadParts),
  described(schema.models, LARGE_ROWS),
  described(schema.collaborators),
  described(schema.modelCategories),
  described(schema.versions, LARGE_ROWS),
  described(schema.versionPrices),
  described(schema.deployments),
  described(schema.releases, LARGE_ROWS),
  described(schema.capacityGrants),
  described(schema.modelVariables, LARGE_ROWS),
  described(schema.examples, LARGE_ROWS),
  // `registryReleased` comes before the rows that it releases: the sweep deletes it last, so whatever a backup
  // has of a deleted model is still to be released.
  described(schema.registryReleased),
  described(schema.registryBlobs),
  described(schema.registryLinks),
  described(schema.registryManifests),
  described(schema.registryReferences),
  described(schema.registryTags),
  described(schema.registryHolds),
  described(schema.accountCounts),
  described(schema.accountUsage),
  // `modelCounts` comes after the counts that it sums up: models keep counting deleted accounts' predictions.
  described(schema.modelCounts),
  described(schema.webhookEndpoints),
  described(schema.logins),
  described(schema.credentials),
  described(schema.passkeys),
  described(schema.twoFactors),
  described(schema.invitations),
  described(schema.runnerTokens),
  described(schema.runners),
];

/** The tables that a backup has not, with the reasons. */
export const NOT_BACKED_UP: Record<string, string> = {
  account_bytes: "triggers add it up again",
  file_bytes: "triggers add it up again",
  registry_bytes: "triggers add it up again",
  registry_uploads: "started again by the next push",
  registry_upload_parts: "started again by the next push",
  registry_garbage: "of the bucket of this deployment",
  listings: "triggers make it again",
  version_files: "triggers make it again",
  models_words: "triggers fill the search indexes again",
  users_words: "triggers fill the search indexes again",
  words: "triggers fill the search indexes again",
  words_trigrams: "triggers fill the search indexes again",
  reading_index: "always empty",
  reading_words: "always empty",
  audit_entries: "exported by their readers: a chain belongs to its deployment",
  audit_chains: "each deployment has its own",
  failed_sign_ins: "of this deployment",
  keys: "each deployment has its own",
  sessions: "users log in again, so that none comes back that was logged out since",
  organization_invitations: "given out again, so that none comes back that was revoked since",
  shares: "given out again by their owners, so that none comes back that was revoked since",
  device_logins: "logins that were under way",
  verifications: "sign-ins that were under way",
  sign_up_attempts: "of one day",
  alerts: "of this deployment",
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

/** The name of a column in the database (storage/database.ts): `credentialID` is `credential_id`. */
function snakeCase({ name }: { name: string }): string {
  return name.replace(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`);
}
