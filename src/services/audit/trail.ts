/** The audit log of an account, or of the deployment: lists, verification and export. */
import type { ChainPlace } from "../../domain/audit/chain.ts";
import { DEPLOYMENT, type EntryRow, presentEntry } from "../../domain/audit/entry.ts";
import { mergeSorted } from "../../domain/cursor.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { derivedKey, hex } from "../../lib/hex.ts";
import { auditAt, newAuditObjectId } from "../../objects/stubs/audit.ts";
import type {
  AuditEvent,
  AuditExportLine,
  AuditFilter,
  AuditVerification,
} from "../../protocol/audit.ts";
import { uuid } from "../../protocol/common.ts";
import { findUserByName } from "../../storage/accounts/users.ts";
import {
  countEntries,
  deleteEntries,
  type EntryFilter,
  findChain,
  insertChain,
  listChainsSignedWithout,
  listEntries,
  listFailedSignIns,
  listToMove,
  setChainKey,
} from "../../storage/audit/entries.ts";
import type { Keyset } from "../../storage/keyset.ts";
import { countVerification, type EventStream } from "../access/concurrency-limit.ts";
import { exportStream } from "../export-stream.ts";
import { type Page, type PageRequest, paginate, type Searched } from "../pagination.ts";
import type { Services } from "../services.ts";

/** The log that is read. Of an account: its own chain. Of the deployment: the chain of all entries. */
export type Trail = { account_id: string } | "deployment";

export interface TrailFilter extends AuditFilter {
  /** In the log of the deployment: limits it to an account. */
  account_id?: string | undefined;
}

/** @throws ValidationFailure for a cursor of another list */
export const listTrail = (
  services: Services,
  trail: Trail,
  filter: TrailFilter,
  page: PageRequest,
): Promise<Page<AuditEvent>> => {
  const limits = limitsOf(trail, filter);
  return paginate(services, page, {
    name: `audit ${JSON.stringify([trail, limits])}`,
    find: (keyset) => findEntries(services, trail, limits, keyset),
    keyOf: ({ id }) => [id],
    present: presentEntry,
  });
};

function limitsOf(trail: Trail, { account_id, after, before, ...rest }: TrailFilter): EntryFilter {
  return {
    ...rest,
    account_id: trail === "deployment" ? account_id : trail.account_id,
    after: after === undefined ? undefined : Date.parse(after),
    before: before === undefined ? undefined : Date.parse(before),
  };
}

/**
 * Finds entries in D1 and in the chain. D1 is read first: what the sweep has moved since is in the chain by
 * then, and an entry in both is listed once.
 */
async function findEntries(
  services: Services,
  trail: Trail,
  filter: EntryFilter,
  keyset: Keyset,
): Promise<Searched<EntryRow>> {
  const pending = await listEntries(services.db, filter, keyset);
  const chained = await (await chainOf(services, trail))?.list(filter, keyset);
  // The entry with its place in the chain comes first, and so is the one that stays.
  const order = { keyOf: ({ id }: EntryRow) => [id], ascending: keyset.back };
  const rows = mergeSorted<EntryRow>([chained?.rows ?? [], pending], order, keyset.limit);
  const [reached] = chained?.reached ?? [];
  if (reached === undefined || rows.length === keyset.limit) return { rows };
  const within = rows.filter(({ id }) => (keyset.back ? id <= reached : id >= reached));
  return { rows: within, reached: [reached] };
}

async function chainOf({ db, env }: Services, trail: Trail) {
  const chain = await findChain(db, chainName(trail));
  return chain && auditAt(env, chain.object_id);
}

const chainName = (trail: Trail): string =>
  trail === "deployment" ? DEPLOYMENT : trail.account_id;

/**
 * Returns the id of an account by its username or id: deleted accounts have no username.
 * @throws ValidationFailure if no account has the name
 */
export async function accountIdOf({ db }: Services, account: string | undefined) {
  if (account === undefined || uuid.safeParse(account).success) return account?.toLowerCase();
  const user = await findUserByName(db, account);
  if (!user) throw invalid(["query", "account"], `no account is named '${account}'`);
  return user.id;
}

/** Checks the whole chain, some thousand entries at a time. @throws ProblemError too_many_requests */
export const verifyTrail = (services: Services, trail: Trail): Promise<AuditVerification> =>
  countVerification(chainName(trail), () => verifyChain(services, trail, chainName(trail)));

async function verifyChain(
  services: Services,
  trail: Trail,
  name: string,
): Promise<AuditVerification> {
  const pending = await countEntries(services.db, name === DEPLOYMENT ? undefined : name);
  const chain = await chainOf(services, trail);
  if (!chain) return { valid: true, entries: 0, pending, head: null, problem: null };
  let entries = 0;
  let from: ChainPlace | null = null;
  for (;;) {
    const { checked, next, head, problem } = await chain.verify(name, from);
    entries += checked;
    if (problem !== null || next === null)
      return { valid: problem === null, entries, pending, head, problem };
    from = next;
  }
}

/** The whole log as JSON Lines. */
export const exportTrail = (services: Services, trail: Trail, filter: TrailFilter): EventStream =>
  exportStream(linesOf(readTrail(services, trail, filter)));

async function* linesOf(entries: AsyncGenerator<AuditEvent>): AsyncGenerator<AuditExportLine> {
  let count = 0;
  for await (const entry of entries) {
    count += 1;
    yield entry;
  }
  yield { type: "end", entries: count };
}

const EXPORT_PAGE = 500;

/** Yields all entries that the filter leaves, the newest first. */
export async function* readTrail(
  services: Services,
  trail: Trail,
  filter: TrailFilter,
): AsyncGenerator<AuditEvent> {
  const limits = limitsOf(trail, filter);
  let from: Keyset["from"];
  for (;;) {
    const keyset = { from, back: false, limit: EXPORT_PAGE };
    const { rows, reached } = await findEntries(services, trail, limits, keyset);
    yield* rows.map(presentEntry);
    const last =
      reached ?? (rows.length < EXPORT_PAGE ? undefined : rows.at(-1) && [rows.at(-1)?.id ?? ""]);
    if (last === undefined) return;
    from = { key: last, inclusive: false };
  }
}

const FAILED_DAYS = 30;

/** Lists how many logins failed on each of the last days, the latest first, without days on which none did. */
export const failedSignIns = ({ db }: Services): Promise<{ day: string; count: number }[]> =>
  listFailedSignIns(db, dayOf(Date.now() - (FAILED_DAYS - 1) * DAY_MS));

const DAY_MS = 86_400_000;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

const MOVED = 200;
/** How long a sweep moves entries, which comes every minute. */
const MOVE_MS = 20_000;

/**
 * Moves entries from D1 to the chain of their account, and to that of the deployment. An entry is deleted in D1
 * when both have it: a sweep that ends in between leaves it, and the next one finds it in the chains already.
 */
export async function sweepAudit(services: Services): Promise<void> {
  const { db } = services;
  const until = Date.now() + MOVE_MS;
  let failure: unknown;
  let after = "";
  while (Date.now() < until) {
    const rows = await listToMove(db, after, MOVED);
    const moved: string[] = [];
    for (const [account, entries] of Map.groupBy(rows, ({ account_id }) => account_id)) {
      try {
        if (account !== DEPLOYMENT) await append(services, account, entries);
        moved.push(...entries.map(({ id }) => id));
      } catch (error) {
        failure = error;
      }
    }
    const here = rows.filter(({ id }) => moved.includes(id));
    if (here.length > 0) await append(services, DEPLOYMENT, here);
    await deleteEntries(db, moved);
    if (rows.length < MOVED) break;
    after = rows.at(-1)?.id ?? "";
  }
  await signAgain(services);
  if (failure) throw failure;
}

async function append(services: Services, account: string, entries: EntryRow[]): Promise<void> {
  const { db, env } = services;
  let chain = await findChain(db, account);
  if (!chain) {
    const [object_id, key_id] = [newAuditObjectId(env), await signingKeyId(services)];
    // Another sweep may have made it meanwhile: the row that stays names the object.
    await insertChain(db, { account_id: account, object_id, key_id });
    chain = await findChain(db, account);
  }
  if (chain) await auditAt(env, chain.object_id).append(account, entries);
}

const RESIGNED = 50;

/** Signs chains with the first key of `SECRET_KEY=new,old`, some at a time, so that the older can be removed. */
async function signAgain(services: Services): Promise<void> {
  const { db, env, settings } = services;
  if (settings.secretKeys.length < 2) return;
  const keyId = await signingKeyId(services);
  for (const chain of await listChainsSignedWithout(db, keyId, RESIGNED)) {
    await auditAt(env, chain.object_id).signAgain();
    await setChainKey(db, chain.account_id, keyId);
  }
}

async function signingKeyId({ settings: { secretKeys } }: Services): Promise<string> {
  const [secret] = secretKeys;
  if (secret === undefined) return "";
  return hex(await derivedKey(secret, "audit key id")).slice(0, 8);
}
