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
    // All that it has: rows are written by their revisions or times, a key by who claims it, and a file by its key.
    // A charge that is made twice only lasts until the bucket has filled again, and an upload that is declared twice
    // until the object reads D1.
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
