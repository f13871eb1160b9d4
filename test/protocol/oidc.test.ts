/** The variables of login with OpenID Connect, and the errors of wrong ones. */
import { expect, test } from "vitest";
import { z } from "zod";
import { checkOidcVariables, oidcSettings, oidcVariables } from "../../src/env-oidc.ts";

const PROVIDER = { OIDC_ISSUER: "https://login.example.com", OIDC_CLIENT_ID: "auspex" };
const settingsOf = (vars: object) => oidcSettings(z.object(oidcVariables).parse(vars));

test("a deployment without an issuer has no login with OpenID Connect", () => {
  checkOidcVariables({ OIDC_ISSUER: "", OIDC_GROUPS: {} });
  expect(settingsOf({ OIDC_ISSUER: "" })).toBeUndefined();
});

test.each([
  ["a table", { "ml team": "acme:developer" }],
  ["JSON", '{"ml team": "acme:developer"}'],
])("the roles of groups are %s", (_, groups) => {
  checkOidcVariables({ ...PROVIDER, OIDC_GROUPS: groups });
  expect(
    settingsOf({ ...PROVIDER, OIDC_GROUPS: groups, OIDC_DOMAINS: "A.example, b.example" }),
  ).toEqual({
    issuer: "https://login.example.com",
    clientId: "auspex",
    clientSecret: "",
    name: "single sign-on",
    domains: ["a.example", "b.example"],
    groups: new Map([["ml team", { organization: "acme", role: "developer" }]]),
    groupsClaim: "groups",
    lapseMs: 7 * 86_400_000,
  });
});

test.each([
  [{ SIGN_IN: "oidc" }, /is missing.*at OIDC_ISSUER/s],
  [{ OIDC_ISSUER: "https://login.example.com" }, /is missing.*at OIDC_CLIENT_ID/s],
  [{ ...PROVIDER, OIDC_ISSUER: "http://login.example.com" }, /Not an https: URL.*at OIDC_ISSUER/s],
  [{ ...PROVIDER, OIDC_ISSUER: "login.example.com" }, /Not an https: URL/],
  [{ ...PROVIDER, OIDC_GROUPS: '{"ml": ' }, /is not JSON.*at OIDC_GROUPS/s],
  [{ ...PROVIDER, OIDC_GROUPS: { ml: "acme" } }, /'acme' is not an organization and a role/],
  [{ ...PROVIDER, OIDC_GROUPS: { ml: "acme:boss" } }, /such as "acme:developer"/],
  [{ ...PROVIDER, OIDC_GROUPS: { ml: "Acme:owner" } }, /'Acme:owner' is not/],
  [{ ...PROVIDER, OIDC_DAYS: "0" }, /at OIDC_DAYS/],
  [{ ...PROVIDER, SIGN_IN: "password" }, /at SIGN_IN/],
])("the variables %o are refused", (vars, message) => {
  expect(() => checkOidcVariables(vars)).toThrow(message);
});
