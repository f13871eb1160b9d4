import { describe, expect, test } from "vitest";
import { endpointsOf, outsideLimits } from "../../../src/domain/accounts/token-limits.ts";
import { tokenLimits } from "../../../src/protocol/token-limits.ts";

const request = { route: "/v1/predictions", origin: undefined, address: undefined };

describe("the group of a route", () => {
  test.each([
    ["/v1/predictions", "predictions"],
    ["/v1/predictions/:prediction_id/stream", "predictions"],
    ["/v1/models/:model_owner/:model_name/predictions", "predictions"],
    ["/v1/models/:model_owner/:model_name/versions/:version_number/predictions", "predictions"],
    ["/v1/models/:model_owner/:model_name", "models"],
    ["/v1/search/models", "models"],
    ["/v1/vendora/chat/completions", "openai"],
    ["/v1/vendorb/messages", "anthropic"],
    ["/replicate/v1/predictions", "replicate"],
    ["/v1/uploads/:upload_id", "files"],
    ["/v1/files/:source_id/:file_name", "files"],
    ["/v2/:owner/:name/manifests/:reference", "registry"],
    ["/v1/user", undefined],
    ["/v1/organizations/:organization/tokens", undefined],
    ["/v1/operator/predictions/:prediction_id", undefined],
    ["/v1/predictionsx", undefined],
    ["", undefined],
  ])("the route %s is in the group %s", (route, group) => {
    expect(endpointsOf(route)).toBe(group);
  });
});

describe("what limits allow", () => {
  test("without endpoints, origins and networks, every request is within the limits", () => {
    expect(outsideLimits({ max_running: 1 }, { ...request, route: "/v1/user" })).toBeUndefined();
  });

  test("a route of another group, or of none, is outside of the endpoints", () => {
    const limits = { endpoints: ["predictions" as const, "files" as const] };
    expect(outsideLimits(limits, request)).toBeUndefined();
    for (const route of ["/v1/vendora/models", "/v1/user", "", "/*"])
      expect(outsideLimits(limits, { ...request, route })).toMatch("predictions, files");
  });

  test.each([
    ["https://app.example.com", true],
    ["https://app.example.com:444", false],
    ["http://app.example.com", false],
    ["https://evil-app.example.com", false],
    ["null", false],
    ["", false],
    [undefined, false],
  ])("the origin %s is an allowed one: %s", (origin, isAllowed) => {
    const limits = { origins: ["https://app.example.com"] };
    expect(outsideLimits(limits, { ...request, origin }) === undefined).toBe(isAllowed);
  });

  test.each([
    ["203.0.113.9", true],
    ["::ffff:203.0.113.9", true],
    ["203.0.114.9", false],
    ["2001:db8:1::9", true],
    ["2001:db9::9", false],
    ["x", false],
    ["", false],
    [undefined, false],
  ])("the address %s is in an allowed network: %s", (address, isAllowed) => {
    const limits = { networks: ["203.0.113.0/24", "2001:db8::/32"] };
    expect(outsideLimits(limits, { ...request, address }) === undefined).toBe(isAllowed);
  });
});

describe("a limit that means nothing is refused", () => {
  test.each([
    { requests_per_minute: 0 },
    { predictions_per_minute: 1.5 },
    { max_running: -1 },
    { endpoints: [] },
    { endpoints: ["user"] },
    { origins: ["https://app.example.com/"] },
    { origins: ["https://App.example.com"] },
    { origins: ["app.example.com"] },
    { origins: ["null"] },
    { origins: ["*"] },
    { networks: ["203.0.113.7"] },
    { networks: ["203.0.113/24"] },
    { networks: ["203.0.113.0/33"] },
    { networks: ["fe80::1%eth0/64"] },
    { networks: ["2001:db8::/129"] },
    { request_per_minute: 5 },
  ])("%j", (limits) => {
    expect(tokenLimits.safeParse(limits).success).toBe(false);
  });
});
