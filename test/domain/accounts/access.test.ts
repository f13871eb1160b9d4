/** Access of callers to models, predictions, uploads and accounts. */
import { describe, expect, test } from "vitest";
import {
  type Access,
  accessToAccount,
  accessToModel,
  accessToPrediction,
  accessToUpload,
  type Principal,
  priorityOf,
} from "../../../src/domain/accounts/access.ts";
import type { Priority } from "../../../src/protocol/common.ts";

const OWNER = { maker: "", role: "owner" } as const;
const whole: Principal = { ...OWNER, token_id: "t1", user_id: "ada", models: null };
const forOne: Principal = { ...OWNER, token_id: "t2", user_id: "ada", models: ["m1", "hers"] };
const forNone: Principal = { ...OWNER, token_id: "t3", user_id: "ada", models: [] };
const stranger: Principal = { ...OWNER, token_id: "t4", user_id: "eve", models: null };
const HOLDERS = [undefined, whole, forOne, forNone, stranger];

const [yes, no, owner, other] = [
  "granted",
  "hidden",
  "owner only",
  "outside token",
] as const satisfies Access[];

describe("a model", () => {
  const m1 = { id: "m1", owner_id: "ada" };
  const m2 = { id: "m2", owner_id: "ada" };
  test.each([
    ["read", "private", m1, [no, yes, yes, other, no]],
    ["read", "private", m2, [no, yes, other, other, no]],
    ["read", "public", m2, [yes, yes, yes, yes, yes]],
    ["read", "restricted", m2, [yes, yes, yes, yes, yes]],
    ["run", "private", m1, [no, yes, yes, other, no]],
    ["run", "private", m2, [no, yes, other, other, no]],
    ["run", "public", m1, [yes, yes, yes, other, yes]],
    ["run", "restricted", m2, [yes, yes, other, other, yes]],
    ["change", "private", m1, [no, yes, yes, other, no]],
    ["change", "private", m2, [no, yes, other, other, no]],
    ["change", "public", m1, [owner, yes, yes, other, owner]],
    ["change", "public", m2, [owner, yes, other, other, owner]],
  ] as const)("to %s, %s, %o", (use, visibility, model, expected) => {
    const found = HOLDERS.map((holder) =>
      accessToModel(holder, { ...model, visibility, level: null }, use),
    );
    expect(found).toEqual(expected);
  });

  test("a model token can run another account's model that it is for, and cannot change it", () => {
    const hers = { id: "hers", owner_id: "eve", visibility: "public", level: null } as const;
    expect(accessToModel(forOne, hers, "run")).toBe(yes);
    expect(accessToModel(forOne, hers, "change")).toBe(owner);
    expect(accessToModel(forOne, { ...hers, visibility: "private" }, "run")).toBe(no);
  });
});

test("a prediction is accessible to its account and to tokens of its model", () => {
  const of = (holder: Principal) =>
    ["m1", "m2"].map((model_id) =>
      accessToPrediction(holder, { user_id: "ada", maker: "", client_id: "", model_id }),
    );
  expect(of(whole)).toEqual([yes, yes]);
  expect(of(forOne)).toEqual([yes, other]);
  expect(of(forNone)).toEqual([other, other]);
  expect(of(stranger)).toEqual([no, no]);
});

test("an upload is accessible to its account, except to other tokens for one model", () => {
  const of = (holder: Principal) =>
    ["t1", "t2", null].map((token_id) =>
      accessToUpload(holder, { user_id: "ada", maker: "", token_id }),
    );
  expect(of(whole)).toEqual([yes, yes, yes]);
  expect(of(forOne)).toEqual([other, yes, other]);
  expect(of(stranger)).toEqual([no, no, no]);
});

test("only tokens for all models can access the account as a whole", () => {
  expect([whole, forOne, forNone].map((holder) => accessToAccount(holder, "owner"))).toEqual([
    yes,
    other,
    other,
  ]);
});

test.each<[Priority | undefined, Priority | null, Priority | undefined]>([
  [undefined, null, "normal"],
  ["high", null, "high"],
  [undefined, "high", "high"],
  [undefined, "low", "low"],
  ["low", "normal", "low"],
  ["normal", "normal", "normal"],
  ["high", "normal", undefined],
  ["normal", "low", undefined],
])("a request for priority %s with a token limited to %s gets %s", (asked, held, given) => {
  expect(priorityOf(asked, held)).toBe(given);
});
