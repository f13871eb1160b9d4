/** Query plans of uploads: one is found by its ID, many by their account. */
import { describe, expect, test } from "vitest";
import {
  claimExpired,
  completeUpload,
  deleteUploads,
  findOwnUploads,
  findUpload,
  findVersionOfUpload,
  insertUpload,
  keepNamed,
  keepUploads,
  keepUploadsOf,
  listAccountsWithExpired,
  listParts,
} from "../../../src/storage/files/uploads.ts";
import { ALLOWANCE, BYTES, db, newRows, plansOf } from "../support/query-plans.ts";

const { user_id, other } = await newRows();

describe("uploads", () => {
  const BY_ID = "SEARCH uploads USING INDEX sqlite_autoindex_uploads_1 (id=?)";
  const BY_ID_ALONE = BY_ID.replace("USING", "USING COVERING");
  const EXPIRES = "SEARCH uploads USING COVERING INDEX uploads_expires";
  const NAMED =
    "SEARCH version_files USING COVERING INDEX sqlite_autoindex_version_files_1 (upload_id=?)";
  const OF_VERSION = "SEARCH version_files USING INDEX version_files_version";
  const PARTS = "SEARCH upload_parts USING PRIMARY KEY (upload_id=?)";
  const row = {
    id: "new",
    user_id,
    prediction_id: null,
    token_id: null,
    key: "",
    multipart_id: "",
    size: 1,
    mime_type: "",
    name: null,
    part_size: 1,
    created_at: 0,
    completed_at: null,
    removed_at: null,
    is_utf8: false,
    expires_at: 1,
  };

  test.each<[string, () => Promise<unknown>, string[][]]>([
    [
      "pending uploads of an account are counted in the index of pending uploads",
      () => insertUpload(db, row, { ...ALLOWANCE, max_pending: 1_000, max_file_bytes: 1_000 }),
      [
        BYTES,
        [
          "SCAN CONSTANT ROW",
          "SCALAR SUBQUERY 1",
          "SEARCH uploads USING INDEX uploads_pending (user_id=?)",
          "SCALAR SUBQUERY 2",
          "SEARCH file_bytes USING PRIMARY KEY (user_id=?)",
          // SQLite searches these because parts and versions refer to uploads; nothing is found.
          NAMED,
          PARTS,
        ],
        BYTES,
        [...BYTES, "SCALAR SUBQUERY 1", ...BYTES],
      ],
    ],
    ["one is found by its id", async () => findUpload(db, "u1"), [[BY_ID]]],
    ["one's own too", async () => findOwnUploads(db, user_id, ["u1", "u2"]), [[BY_ID]]],
    ["its parts are a range, in order", async () => listParts(db, "u1"), [[PARTS]]],
    [
      "completed",
      () => completeUpload(db, "u1", { completed_at: 1, expires_at: 2, is_utf8: true }),
      [[BY_ID], [PARTS]],
    ],
    ["kept for longer", async () => keepUploads(db, ["u1", "u2"], 5), [[BY_ID]]],
    [
      "deleted, with their parts",
      async () => deleteUploads(db, ["u1", "u2"]),
      [[BY_ID_ALONE, "LIST SUBQUERY 1", "SCAN json_each VIRTUAL TABLE INDEX 1:", NAMED, PARTS]],
    ],
    [
      "accounts with some that have had their time are found by two looks each",
      () => listAccountsWithExpired(db, 100, 50),
      [
        [
          "CO-ROUTINE holders",
          "SETUP",
          EXPIRES,
          "RECURSIVE STEP",
          "SCAN holders",
          "CORRELATED SCALAR SUBQUERY 2",
          `${EXPIRES} (user_id>?)`,
          "SCAN holders",
          "SEARCH uploads EXISTS USING COVERING INDEX uploads_expires (user_id=? AND expires_at<?)",
          "USE TEMP B-TREE FOR ORDER BY",
        ],
      ],
    ],
    [
      "those of an account that have had their time are the first of an index",
      () => claimExpired(db, { users: [user_id, other], each: 5, now: 100, again: 200 }),
      [
        [
          BY_ID_ALONE,
          "LIST SUBQUERY 3",
          "SCAN account VIRTUAL TABLE INDEX 1:",
          "SEARCH one USING COVERING INDEX sqlite_autoindex_uploads_1 (id=?)",
          "CORRELATED LIST SUBQUERY 2",
          "SEARCH uploads USING INDEX uploads_expires (user_id=? AND expires_at<?)",
          "CORRELATED SCALAR SUBQUERY 1",
          NAMED,
        ],
      ],
    ],
    [
      "those that versions name are looked up for each of these",
      async () => keepNamed(db, { users: [user_id, other], each: 5, now: 100, until: 200 }),
      [
        [
          BY_ID_ALONE,
          "LIST SUBQUERY 3",
          "SCAN account VIRTUAL TABLE INDEX 1:",
          "SEARCH one USING COVERING INDEX sqlite_autoindex_uploads_1 (id=?)",
          "CORRELATED LIST SUBQUERY 2",
          "SEARCH uploads USING INDEX uploads_expires (user_id=? AND expires_at<?)",
          NAMED.replace("USING", "EXISTS USING"),
        ],
      ],
    ],
    [
      "those of a version",
      async () => keepUploadsOf(db, { modelId: "m1", number: 1 }, 5),
      [[BY_ID_ALONE, "LIST SUBQUERY 1", `${OF_VERSION} (model_id=? AND version_number=?)`]],
    ],
    [
      "those of a model",
      async () => keepUploadsOf(db, { modelId: "m1" }, 5),
      [[BY_ID_ALONE, "LIST SUBQUERY 1", `${OF_VERSION} (model_id=?)`]],
    ],
    [
      "the version of one, and its model",
      async () => findVersionOfUpload(db, "u1"),
      [
        [
          NAMED,
          "SEARCH models USING INDEX sqlite_autoindex_models_1 (id=?)",
          "SEARCH users USING INDEX sqlite_autoindex_users_1 (id=?)",
        ],
      ],
    ],
  ])("%s", async (_, call, plans) => {
    expect(await plansOf(call)).toEqual(plans);
  });
});
