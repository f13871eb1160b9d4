/**
 * Reads the next part of a backup: a page of a table, or the data of some accounts. Others write meanwhile: a
 * page is of one moment, and so is a small account, but the whole backup is not. A restore leaves out rows
 * that refer to a later row which the backup has not.
 */
import type { BackupPosition, BackupProgress } from "../../domain/backups/progress.ts";
import { mapAhead } from "../../lib/streams.ts";
import { logger } from "../../log.ts";
import type { AccountCopy } from "../../objects/account/rpc-types.ts";
import { accountAt } from "../../objects/account/stub.ts";
import type { AccountPage, PartContent } from "../../protocol/backup.ts";
import { type AccountOfUser, listAccountObjects } from "../../storage/backups/accounts.ts";
import { keyOf, selectRows } from "../../storage/backups/rows.ts";
import { BACKUP_TABLES } from "../../storage/backups/tables.ts";
import type { Services } from "../services.ts";

/**
 * The characters of one call, and of one part unless a single call has more: a part is held in memory several
 * times.
 */
const ACCOUNT_CHARS = 300_000;
const PART_CHARS = 1_000_000;
/** The accounts of one part, and how many are asked at a time. */
const ACCOUNTS = 100;
const AT_ONCE = 5;
/** Attempts with one account, a minute apart, before the backup continues without it. */
const MAX_FAILURES = 5;

export const FIRST: BackupPosition = { table: BACKUP_TABLES[0]?.name ?? "", after: null };

/** A part that was read. Undefined content: there was nothing. */
export interface ReadPart {
  content: PartContent | undefined;
  next: BackupPosition;
}

type Moving = Pick<BackupProgress, "position" | "failures" | "left_out">;

/** @param progress where failures are counted */
export function readPart(services: Services, progress: Moving): Promise<ReadPart> {
  const { position } = progress;
  if (position === null) return Promise.resolve({ content: undefined, next: null });
  return "table" in position
    ? readTable(services, position)
    : readAccounts(services, position, progress);
}

async function readTable(
  { db }: Services,
  { table: name, after }: Extract<BackupPosition, { table: string }>,
): Promise<ReadPart> {
  const at = BACKUP_TABLES.findIndex((one) => one.name === name);
  const table = BACKUP_TABLES[at];
  if (!table) throw new Error(`the backup is at a table that does not exist: ${name}`);
  const rows = await selectRows(db, table, after);
  const last = rows.at(-1);
  if (last && rows.length === table.pageRows)
    return { content: { table: name, rows }, next: { table: name, after: keyOf(table, last) } };
  const following = BACKUP_TABLES[at + 1];
  const next = following ? { table: following.name, after: null } : { user: "", account: null };
  return { content: last && { table: name, rows }, next };
}

type AccountsPosition = Extract<BackupPosition, { user: string }>;

async function readAccounts(
  services: Services,
  from: AccountsPosition,
  progress: Moving,
): Promise<ReadPart> {
  const pages: AccountPage[] = [];
  let position = from;
  let chars = 0;
  const users = await listAccountObjects(services.db, from.user, from.account !== null, ACCOUNTS);
  const reads = mapAhead(users, AT_ONCE, async (user) => ({
    user,
    copy: await readAccount(services, user, user.id === from.user ? from.account : null).catch(
      (error: unknown) => ({ error }),
    ),
  }));
  for await (const { user, copy } of reads) {
    if ("error" in copy) {
      // The pages that were read before the failure are written first.
      if (pages.length > 0) break;
      if (!isGivenUp(user, copy.error, progress)) throw copy.error;
      position = { user: user.id, account: null };
      continue;
    }
    progress.failures = 0;
    pages.push({ ...copy.page, user_id: user.id });
    chars += JSON.stringify(copy.page).length;
    position = { user: user.id, account: copy.next };
    if (copy.next || chars > PART_CHARS) break;
  }
  const content = pages.length > 0 ? { accounts: pages } : undefined;
  const isLast = users.length < ACCOUNTS && users.at(-1)?.id === position.user;
  const isOver = users.length === 0 || (isLast && position.account === null);
  return { content, next: isOver ? null : position };
}

const readAccount = (
  { env }: Services,
  { account_object }: AccountOfUser,
  from: AccountsPosition["account"],
): Promise<AccountCopy> => accountAt(env, account_object).copy(from, ACCOUNT_CHARS);

/** Whether the backup continues without this account: a backup of all others is better than none. */
function isGivenUp({ id: user_id }: AccountOfUser, error: unknown, progress: Moving): boolean {
  progress.failures += 1;
  if (progress.failures < MAX_FAILURES) return false;
  logger.error("Account not backed up", { user_id, error });
  progress.failures = 0;
  progress.left_out.push(user_id);
  return true;
}
