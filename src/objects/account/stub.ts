/** The only way to account objects. */
import type { Bindings } from "../../env.ts";
import { bounded } from "../bounded.ts";
import { inJurisdiction } from "../jurisdiction.ts";

export type AccountStub = ReturnType<typeof accountAt>;

/**
 * Makes the id of a new account object. The object stays where it is made: near its first caller, in the
 * jurisdiction that is set then.
 */
export const newAccountObjectId = (env: Bindings) =>
  inJurisdiction(env, env.ACCOUNT).newUniqueId().toString();

/** @param ms how long the object may take to answer */
export const accountAt = (env: Bindings, objectId: string, ms?: number) =>
  bounded(() => env.ACCOUNT.get(env.ACCOUNT.idFromString(objectId)), {
    ms,
    // All methods of the object are repeatable: rows are written by their revisions or times, a key by its
    // claimant, and a file by its key. A charge that is made twice only lasts until the bucket has filled
    // again, and an upload that is declared twice until the object reads D1.
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
      "addFile",
      "removeFile",
      "declareUpload",
      "fileBytes",
      "copy",
      "restore",
      "addConversation",
      "removeConversation",
      "close",
      "isEmpty",
    ],
  });
