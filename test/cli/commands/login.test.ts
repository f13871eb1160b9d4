/** `auspex login` with a browser: what the command does with each answer. test/journey has the real service. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { DEVICE_GRANT, type DeviceRefusal } from "../../../src/protocol/device-login.ts";
import { sized } from "../../support/sized.ts";
import {
  GIVEN,
  home,
  keptToken,
  refused,
  service,
  url,
  useLogin,
  withBrowser,
} from "../support/login-bed.ts";
import { inTerminal } from "../support/terminal.ts";

useLogin();

test("login shows a code, opens the page of the named address, and keeps the token", async () => {
  const notes = withBrowser();
  service.polls = [refused("authorization_pending"), [503, {}], [200, GIVEN]];
  const { code, screen } = await inTerminal(home, ["login", url]);
  expect(code, screen).toBe(0);
  expect(screen).toContain(`Open ${url}/device and enter this code: BCDF-GHJK`);
  expect(screen).toContain(`Logged in to ${url} as ada.`);
  expect(screen).not.toContain("aus_new");
  expect(readFileSync(notes, "utf8")).toBe(`${url}/device\n`);
  expect(keptToken()).toBe("aus_new");
  const poll = { client_id: "auspex", grant_type: DEVICE_GRANT, device_code: "ausd_secret" };
  expect(service.forms).toEqual([
    ["/oauth/device_authorization", { client_id: "auspex", device_name: hostname() }],
    ...Array.from({ length: 3 }, () => ["/oauth/token", poll]),
  ]);
});

const refusals: [DeviceRefusal["error"], string][] = [
  ["access_denied", "It says access_denied."],
  ["expired_token", "Run auspex login again."],
  ["invalid_grant", "Run auspex login again."],
];
test.each(refusals.slice(0, sized(1, refusals.length)))(
  "login ends with an answer %s",
  async (error, message) => {
    service.polls = [refused(error)];
    const { code, screen } = await inTerminal(home, ["login", url]);
    expect([code, screen]).toEqual([1, expect.stringContaining(message)]);
    expect(service.forms).toHaveLength(2);
  },
);

test("login asks for a token with --token, and says without a terminal where to get one", async () => {
  const { code } = await inTerminal(home, ["login", url, "--token"], {
    after: /Token \(create one at/,
    keys: "aus_new\r",
  });
  expect([code, keptToken(), service.forms]).toEqual([0, "aus_new", []]);
  const { code: refused, err } = await home.call(["login", url]);
  expect([refused, err]).toEqual([2, expect.stringContaining(`create one at ${url}/tokens`)]);
});
