/** How everything outside reaches account objects. */
import type { Bindings } from "../../env.ts";
import { bounded } from "../bounded.ts";
import { inJurisdiction } from "../jurisdiction.ts";

export type AccountStub = ReturnType<typeof accountAt>;

/** Where it is made is where it stays: near who makes it, in the jurisdiction that is set then. */
export const newAccountObjectId = (env: Bindings) =>
  inJurisdiction(env, env.ACCOUNT).newUniqueId().toString();

/** @param ms how long it may take to answer */
export const accountAt = (env: Bindings, objectId: string, ms?: number) =>
  bounded(() => env.ACCOUNT.get(env.ACCOUNT.idFromString(objectId)), {
    ms,
    // All that it has: rows are written by their revisions or times, and a key by who claims it. A charge that
    // is made twice only lasts until the bucket has filled again.
    repeatable: [
      "put",
      "claim",
      "keyHolder",
      "discard",
      "recordDeliveries",
      "find",
      "list",
      "listDeliveries",
      "unfinished",
      "usage",
      "usagePage",
      "chargeWrites",
      "settleWrites",
      "copy",
      "restore",
      "addConversation",
      "removeConversation",
      "close",
      "isEmpty",
    ],
  });
