/** The only way to audit objects. */
import type { ChainPlace } from "../../domain/audit/chain.ts";
import type { ChainedEntry } from "../../domain/audit/entry.ts";
import type { Bindings } from "../../env.ts";
import { bounded } from "./bounded.ts";
import { inJurisdiction } from "./jurisdiction.ts";

export const newAuditObjectId = (env: Bindings) =>
  inJurisdiction(env, env.AUDIT).newUniqueId().toString();

export const auditAt = (env: Bindings, objectId: string) =>
  bounded(() => env.AUDIT.get(env.AUDIT.idFromString(objectId)), {
    // An entry that is appended twice is in the chain once.
    repeatable: ["append", "list", "verify", "signAgain"],
  });

/** A page of entries. If `reached` is set, entries were checked up to this one only; others may match. */
export interface ListedEntries {
  rows: ChainedEntry[];
  reached?: [id: string];
}

/** The result of a step of a verification. */
export interface Verified {
  /** The entries of this step. */
  checked: number;
  /** The place where the next step begins. Null: this was the last one. */
  next: ChainPlace | null;
  head: ChainPlace | null;
  problem: string | null;
}
