/** Query plans of what accounts have: webhook endpoints, usage, tokens and the rows that go with them. */
import { describe, expect, test } from "vitest";
import {
  listSomeModels,
  takeClosedAccounts,
} from "../../../src/storage/accounts/account-removal.ts";
import {
  findActivity,
  listFormerUsernames,
  listOperators,
  listSuspended,
  listSuspendedUsers,
} from "../../../src/storage/accounts/people.ts";
import { listRecoveries } from "../../../src/storage/accounts/sign-in.ts";
import {
  findModelNames,
  findModelsByName,
  insertToken,
  markTokenUsed,
} from "../../../src/storage/accounts/tokens.ts";
import type { Keyset } from "../../../src/storage/keyset.ts";
import { deleteCounts, listToldSince } from "../../../src/storage/models/counts.ts";
import {
  addSecret,
  clearFailures,
  deleteEndpoint,
  findEndpoint,
  findOwnEndpoint,
  insertEndpoint,
  removeSecret,
  saveHealth,
  selectEnabled,
  updateEndpoint,
  type WebhookEndpointRow,
} from "../../../src/storage/webhooks/endpoints.ts";
import { ALLOWANCE, BYTES, db, isCheap, newRows, plansOf } from "../support/query-plans.ts";

const { user_id } = await newRows();

describe("webhook endpoints", () => {
  const BY_ID = "SEARCH webhook_endpoints USING INDEX sqlite_autoindex_webhook_endpoints_1 (id=?)";
  const OF_USER = "USING INDEX webhook_endpoints_user (user_id=?)";
  const secret = { id: "s1", secret: "", created_at: 0 };
  const health = { enabled: true, failing_since: 0, last_error: "", notice: null };
  const row: WebhookEndpointRow = {
    ...health,
    id: "new",
    user_id,
    url: "",
    description: "",
    events: [],
    secrets: [],
    created_at: 0,
    updated_at: 0,
  };

  test.each<[string, () => Promise<unknown>, string[]]>([
    [
      "the endpoints of an account are counted in their index",
      () => insertEndpoint(db, row, 4),
      [
        "SCAN CONSTANT ROW",
        "SCALAR SUBQUERY 1",
        "SEARCH webhook_endpoints USING COVERING INDEX webhook_endpoints_user (user_id=?)",
      ],
    ],
    [
      "the enabled endpoints of an account are read from its index, in order",
      async () => selectEnabled(db, user_id),
      [`SEARCH webhook_endpoints ${OF_USER}`],
    ],
    ["an endpoint is found by its ID", async () => findEndpoint(db, "w1"), [BY_ID]],
    [
      "an endpoint of the caller is found by its ID",
      async () => findOwnEndpoint(db, user_id, "w1"),
      [BY_ID],
    ],
    [
      "an endpoint is changed by its ID",
      async () => updateEndpoint(db, user_id, "w1", { enabled: false }, 0),
      [BY_ID],
    ],
    [
      "an endpoint's health is saved by its ID",
      () => saveHealth(db, "w1", health, { at: 0, updated_at: 0, failing_since: null }),
      [BY_ID],
    ],
    [
      "an endpoint's failures are cleared by its ID",
      () => clearFailures(db, "w1", { at: 0, updated_at: 0 }),
      [BY_ID],
    ],
    [
      "an endpoint gets a secret by its ID",
      async () => addSecret(db, user_id, "w1", secret, 3),
      [BY_ID],
    ],
    ["an endpoint is deleted by its ID", () => deleteEndpoint(db, user_id, "w1"), [BY_ID]],
  ])("%s", async (_, call, plan) => {
    expect(await plansOf(call)).toEqual([plan]);
  });

  test("a secret that is removed is found by its endpoint", async () => {
    const [plan = []] = await plansOf(async () => removeSecret(db, user_id, "w1", "s1", 0));
    expect(plan[0]).toBe(BY_ID);
    expect(plan.filter((step) => !isCheap(step))).toEqual([]);
  });
});

describe("accounts that are closed", () => {
  test.each<[string, () => Promise<unknown>, string[]]>([
    [
      "closed accounts are a range of the names",
      async () => takeClosedAccounts(db, 1, 5),
      [
        "SEARCH users USING COVERING INDEX sqlite_autoindex_users_1 (id=?)",
        "LIST SUBQUERY 1",
        "SEARCH users USING INDEX users_username_unique (username>? AND username<?)",
        "USE TEMP B-TREE FOR ORDER BY",
      ],
    ],
    [
      "models of a closed account are a range of an index",
      async () => listSomeModels(db, user_id, 10),
      ["SEARCH models USING COVERING INDEX models_owner (owner_id=?)"],
    ],
  ])("%s", async (_, call, plan) => {
    expect(await plansOf(call)).toEqual([plan]);
  });

  test("active accounts are a range of the time of their last count, on any page", async () => {
    const page = { back: false, limit: 201 };
    const plan = (from: Keyset["from"]) => plansOf(() => listToldSince(db, 1, { ...page, from }));
    const steps = [
      "SEARCH account_counts USING COVERING INDEX account_counts_told (told_at>?)",
      "SEARCH users USING INDEX sqlite_autoindex_users_1 (id=?) LEFT-JOIN",
    ];
    expect(await plan(undefined)).toEqual([steps]);
    const key = [1, "u", "m"];
    expect(await plan({ key, inclusive: false })).toEqual([steps]);
  });

  test("counts of an account are found by their key", async () => {
    expect(await plansOf(async () => deleteCounts(db, user_id, 10))).toEqual([
      [
        "SEARCH account_counts USING PRIMARY KEY (user_id=? AND model_id=?)",
        "LIST SUBQUERY 2",
        "SEARCH account_counts USING PRIMARY KEY (user_id=?)",
      ],
    ]);
  });
});

describe("tokens", () => {
  const OWNERS = "SEARCH users USING INDEX sqlite_autoindex_users_1 (id=?)";
  const USED = "SEARCH tokens USING INDEX sqlite_autoindex_tokens_1 (id=?)";
  const row = { id: "new", user_id, name: "", hash: "new", prefix: "", scopes: [], created_at: 0 };

  test.each<[string, () => Promise<unknown>, string[]]>([
    [
      "tokens of an account are counted in their index",
      async () => insertToken(db, row, 1_000, ALLOWANCE),
      ["SCALAR SUBQUERY 1", "SEARCH tokens USING INDEX tokens_user (user_id=?)"],
    ],
    ["a token that is used is found by its ID", () => markTokenUsed(db, "t1", 2, 1), [USED]],
    [
      "models that are named are found by owner and name",
      async () => findModelsByName(db, user_id, [["a", "b"]]),
      [
        "SCAN json_each VIRTUAL TABLE INDEX 1:",
        "SEARCH users USING INDEX users_username_unique (username=?)",
        "SEARCH models USING INDEX models_owner_name (owner_id=? AND name=?)",
      ],
    ],
    [
      "models of a token are found by their IDs",
      async () => findModelNames(db, "t1"),
      [
        USED,
        "CORRELATED SCALAR SUBQUERY 1",
        "SCAN json_each VIRTUAL TABLE INDEX 1:",
        "SEARCH models USING INDEX sqlite_autoindex_models_1 (id=?)",
        OWNERS,
      ],
    ],
  ])("%s", async (_, call, plan) => {
    expect((await plansOf(call)).filter(([step]) => step !== BYTES[0])).toEqual([plan]);
  });
});

describe("people", () => {
  const pageFrom = (...key: (string | number)[]): Keyset => ({
    from: { key, inclusive: false },
    back: false,
    limit: 10,
  });

  test("operators and suspended users are ranges of indexes that have nobody else", async () => {
    const plans = await plansOf(async () => {
      await listOperators(db, "proof", pageFrom("5"));
      await listSuspendedUsers(db, pageFrom(5, "5"));
      await listSuspended(db, 0, 10);
    });
    expect(plans).toEqual([
      ["SEARCH users USING INDEX users_operators (operator_proof=? AND id<?)"],
      ["SEARCH users USING INDEX users_suspended (suspended_at>? AND (suspended_at,id)<(?,?))"],
      ["SEARCH users USING COVERING INDEX users_suspended (suspended_at>?)"],
    ]);
  });

  test("counts and last uses of users are found by the user", async () => {
    const plans = await plansOf(async () => {
      await findActivity(db, [user_id]);
      await listFormerUsernames(db, user_id, "ada");
    });
    for (const plan of plans)
      expect(plan.filter((step) => !isCheap(step) && !/^SCAN json_each/.test(step))).toEqual([]);
    expect(plans.flat().join()).toMatch(/tokens_user .*sessions_user .*usernames_user /);
  });

  test("recoveries of a user are found in the index of the user's invitations", async () => {
    const [plan = []] = await plansOf(async () => listRecoveries(db, user_id, 10));
    expect(plan[0]).toBe("SEARCH invitations USING INDEX invitations_user (user_id=?)");
  });
});
