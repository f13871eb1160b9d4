/** Where one comes by which words. */
import { expect, test } from "vitest";
import { audiencesOf, findPlaces } from "../../../src/dashboard/find/places.ts";

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
  ["API KEY", ["/tokens"]],
  ["password", ["/account/security"]],
  ["  exp  acc ", ["/account/export"]],
  ["account xyz", []],
])("%j leads to %j", (query, found) => expect(addresses(USER, query)).toEqual(found));

test("a name comes before other words", () => {
  expect(addresses(OPERATOR, "tokens")[0]).toBe("/tokens");
  expect(addresses(OPERATOR, "users")[0]).toBe("/users");
  expect(addresses(OPERATOR, "runner").slice(0, 2)).toEqual(["/fleet/tokens", "/fleet/tokens"]);
});
