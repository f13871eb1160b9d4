/** `auspex login` with options, and with a deployment that is slow, overloaded or away. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { BEGUN, home, refused, service, url, useLogin, withBrowser } from "../support/login-bed.ts";
import { inTerminal } from "../support/terminal.ts";

useLogin();

test("login opens no browser with --no-browser, and shows the code also with --quiet", async () => {
  const notes = withBrowser();
  const { code, screen } = await inTerminal(home, ["login", url, "--no-browser", "--quiet"]);
  expect(code, screen).toBe(0);
  expect(screen).toContain("BCDF-GHJK");
  expect(existsSync(notes)).toBe(false);
});

test("login ends when the code has expired, also if nobody answers", async () => {
  service.begun = [200, { ...BEGUN, expires_in: 1 }];
  service.polls = [[503, {}]];
  const { code, screen } = await inTerminal(home, ["login", url]);
  expect([code, screen]).toEqual([1, expect.stringContaining("The code has expired.")]);
});

test("login waits longer after it was told to slow down, and stops at once on Ctrl-C", async () => {
  service.polls = [refused("slow_down"), refused("authorization_pending")];
  const began = performance.now();
  const { code } = await inTerminal(home, ["login", url], {
    after: /Waiting for the approval/,
    keys: async () => {
      while (service.forms.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return "\x03";
    },
  });
  expect(code).toBe(130);
  expect(service.forms).toHaveLength(2);
  expect(performance.now() - began).toBeLessThan(15_000);
});

test("login says what is wrong where a deployment refuses to begin", async () => {
  const problem = { type: "urn:auspex:too_many_requests", title: "Too many", status: 429 };
  service.begun = [429, { ...problem, detail: "Too many login attempts.", request_id: "1" }];
  const { code, screen } = await inTerminal(home, ["login", url]);
  expect([code, screen]).toEqual([1, expect.stringContaining("Too many login attempts.")]);
});
