/** The audit log in tests. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { AuditObject } from "../../../src/objects/audit/object.ts";
import type { AuditEvent } from "../../../src/protocol/audit.ts";
import { auditEntry } from "../../../src/services/audit/record.ts";
import { sweepAudit } from "../../../src/services/audit/trail.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { services } from "./accounts.ts";
import type { Client } from "./client.ts";

/** Returns an entry for statements that need one. */
export const anEntry = (account_id: string | null = "u") =>
  auditEntry({ action: "model.updated", account_id, targets: [] });

export const moveEntries = () => sweepAudit(services);

/** Lists the entries that a client sees, newest first. */
export const entriesOf = async (client: Client, query = ""): Promise<AuditEvent[]> =>
  (await client.ok<Page<AuditEvent>>("GET", `/v1/audit_events${query}`)).items;

/** Returns the actions of entries, oldest first. */
export const actionsOf = async (client: Client, query = ""): Promise<string[]> =>
  (await entriesOf(client, query)).map(({ action }) => action).reverse();

/** Returns all entries that the sweep has not moved, as text. */
export async function everyEntry(): Promise<string> {
  const { results } = await env.DB.prepare("SELECT * FROM audit_entries").all();
  return JSON.stringify(results);
}

/** Runs a function in the object of an account's chain. */
export async function inChain<Result>(
  accountId: string,
  act: (object: AuditObject, state: DurableObjectState) => Result | Promise<Result>,
): Promise<Result> {
  const statement = env.DB.prepare("SELECT object_id FROM audit_chains WHERE account_id = ?");
  const id = await statement.bind(accountId).first<string>("object_id");
  if (id === null) throw new Error("the account has no chain");
  const stub = env.AUDIT.get(env.AUDIT.idFromString(id));
  return runInDurableObject(stub, async (object: AuditObject, state) => act(object, state));
}

/** Changes the rows of a chain behind its back. */
export const tamper = (accountId: string, statement: string): Promise<void> =>
  inChain(accountId, (_, { storage }) => void storage.sql.exec(statement));
