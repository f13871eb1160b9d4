/** Where one comes by which words. */
import { expect, test } from "vitest";
import { actionsFor, audiencesOf, findPlaces } from "../../../src/dashboard/find/places.ts";

const OPERATOR = audiencesOf({ operator: true });
const USER = audiencesOf({ operator: false });
const NOBODY = audiencesOf(undefined);

const addresses = (audience: typeof USER, query: string) =>
  findPlaces(audience, query).map(({ address }) => address);

test("everybody finds their own pages only", () => {
  expect(addresses(NOBODY, "")).toEqual(["/", "/models", "/docs", "/sign-in"]);
  expect(addresses(USER, "")).toContain("/tokens");
  expect(addresses(USER, "")).not.toContain("/sign-in");
  expect(addresses(USER, "runner")).toEqual([]);
  expect(addresses(OPERATOR, "runner")).toContain("/fleet");
});

test.each([
  ["billing", ["/account/usage"]],
  ["API KEY", ["/tokens", "/tokens#new-token"]],
  ["password", ["/account/security#password-title", "/account/security"]],
  ["  exp  acc ", ["/account/export"]],
  ["account xyz", []],
])("%j leads to %j", (query, found) => expect(addresses(USER, query)).toEqual(found));

test("a name comes before other words", () => {
  expect(addresses(OPERATOR, "tokens")[0]).toBe("/tokens");
  expect(addresses(OPERATOR, "users")[0]).toBe("/users");
  expect(addresses(OPERATOR, "runner tokens")[0]).toBe("/fleet/tokens");
});

test.each([
  ["sign out", "/sign-out"],
  ["log out", "/sign-out"],
  ["new token", "/tokens#new-token"],
  ["cancel", "/predictions?statuses=pending&statuses=started"],
  ["csv", "/account/usage#csv"],
  ["export your data", "/account/export"],
  ["add passkey", "/account/security#passkeys-title"],
  ["new webhook", "/account/webhooks#new-endpoint"],
])("%j is for everybody, and leads to %s first", (query, address) =>
  expect(addresses(USER, query)[0]).toBe(address),
);

test.each([
  ["drain", "/fleet"],
  ["invite", "/users#invite"],
  ["add runner", "/fleet/tokens#new-token"],
])("%j is for operators, and leads to %s first", (query, address) => {
  expect(addresses(OPERATOR, query)[0]).toBe(address);
  expect(addresses(USER, query)).toEqual([]);
});

test("only signing out is done at once", () => {
  expect(
    actionsFor(OPERATOR)
      .filter(({ isPost }) => isPost)
      .map(({ name }) => name),
  ).toEqual(["Sign out"]);
  expect(actionsFor(NOBODY)).toEqual([]);
});
