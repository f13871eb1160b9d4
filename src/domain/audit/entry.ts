/** Entries of the audit log, as D1 and the audit objects store them. */
import type { Json } from "../../lib/json.ts";
import type { AuditAction, AuditChanges, AuditEvent } from "../../protocol/audit.ts";
import { auditChanges, auditContext, auditTarget } from "../../protocol/audit.ts";

/** The chain of entries that concern no account, and that has a copy of every other entry. */
export const DEPLOYMENT = "";

/** An entry. `targets`, `context` and `changes` are JSON: the hash is of these texts. */
export interface EntryRow {
  /** UUIDv7 of the time of the change: entries are sorted by it. */
  id: string;
  /** `DEPLOYMENT`, or the account that the change concerns. */
  account_id: string;
  action: AuditAction;
  actor_type: AuditEvent["actor"]["type"];
  actor_id: string;
  actor_name: string;
  targets: string;
  context: string;
  changes: string | null;
  /** Unix ms. */
  occurred_at: number;
}

/** An entry in a chain. */
export interface ChainedEntry extends EntryRow {
  sequence: number;
  hash: string;
}

export function presentEntry(row: EntryRow | ChainedEntry): AuditEvent {
  return {
    id: row.id,
    action: row.action,
    occurred_at: new Date(row.occurred_at).toISOString(),
    account_id: row.account_id === DEPLOYMENT ? null : row.account_id,
    actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
    targets: auditTarget.array().parse(JSON.parse(row.targets)),
    context: auditContext.parse(JSON.parse(row.context)),
    changes: row.changes === null ? null : auditChanges.parse(JSON.parse(row.changes)),
    sequence: "sequence" in row ? row.sequence : null,
    hash: "hash" in row ? row.hash : null,
  };
}

/**
 * The longest text of a changed field that an entry has, and of all together, in characters: overviews have 100 KB,
 * and the log of the deployment holds 10 GB.
 */
const MAX_TEXT = 500;
const MAX_CHANGES = 4_000;

/**
 * Returns the fields that differ. Long values are cut.
 * @returns undefined if none differs
 */
export function changedFields(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): AuditChanges | undefined {
  const names = Object.keys(after).filter(
    (name) => JSON.stringify(before[name] ?? null) !== JSON.stringify(after[name] ?? null),
  );
  if (names.length === 0) return undefined;
  const longest = Math.min(MAX_TEXT, Math.floor(MAX_CHANGES / 2 / names.length));
  const pick = (from: Record<string, unknown>) =>
    Object.fromEntries(names.map((name) => [name, cut(from[name], longest)]));
  return { before: pick(before), after: pick(after) };
}

function cut(value: unknown, longest: number): Json {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  if (text.length > longest) return `${text.slice(0, longest)}… (${text.length} characters)`;
  return typeof value === "string" ? value : JSON.parse(text);
}
