/** `auspex login` with a browser: what the command does with each answer. test/journey has the real service. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DEVICE_GRANT, type DeviceRefusal } from "../../../src/protocol/device-login.ts";
import { sized } from "../../support/sized.ts";
import { Home } from "../support/command.ts";
import { inTerminal } from "../support/terminal.ts";

const USER = {
  ...{ id: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e", username: "ada", name: "", kind: "user" },
  ...{ avatar_url: "", bio: "", urls: [], location: "", company: "", organizations: [] },
  ...{ created_at: "2026-11-26T00:00:00.000Z", updated_at: "2026-11-26T00:00:00.000Z" },
};
const BEGUN = {
  ...{ device_code: "ausd_secret", user_code: "BCDF-GHJK", interval: 1, expires_in: 600 },
  verification_uri: "https://elsewhere.example.com/device",
};
const GIVEN = { access_token: "aus_new", token_type: "Bearer", expires_in: 1, scope: "read" };

type Answer = [status: number, body: unknown];

const refused = (error: DeviceRefusal["error"]): Answer => [
  400,
  { error, error_description: `It says ${error}.` },
];

/** The answer to the request for a code, and those to the polls: the last one again and again. */
let begun: Answer;
let polls: Answer[];
/** The forms that were sent, by path. */
let forms: [path: string, fields: object][];
let server: Server;
let url: string;
let home: Home;

beforeEach(async () => {
  [begun, polls, forms] = [[200, BEGUN], [[200, GIVEN]], []];
  server = createServer(async (request, response) => {
    const path = request.url ?? "";
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.method === "POST")
      forms.push([path, Object.fromEntries(new URLSearchParams(body))]);
    const isPoll = path === "/oauth/token";
    const [status, said] = isPoll
      ? ((polls.length > 1 ? polls.shift() : polls[0]) ?? refused("invalid_grant"))
      : path === "/oauth/device_authorization"
        ? begun
        : ([request.headers.authorization === "Bearer aus_new" ? 200 : 401, USER] as const);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(said));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  home = new Home();
});
afterEach(() => {
  server.close();
  home.remove();
});

/** Puts an `xdg-open` into the PATH, which notes what it is to open. @returns the notes */
function withBrowser(): string {
  const [folder, notes] = [join(home.folder, "bin"), join(home.folder, "opened")];
  mkdirSync(folder);
  writeFileSync(join(folder, "xdg-open"), `#!/bin/sh\necho "$@" >>"${notes}"\n`);
  chmodSync(join(folder, "xdg-open"), 0o755);
  home.environment.PATH = [folder, process.env.PATH].join(delimiter);
  home.environment.DISPLAY = ":0";
  return notes;
}

const keptToken = () =>
  JSON.parse(readFileSync(join(home.folder, "config/auspex/credentials.json"), "utf8")).token;

test("login shows a code, opens the page of the named address, and keeps the token", async () => {
  const notes = withBrowser();
  polls = [refused("authorization_pending"), [503, {}], [200, GIVEN]];
  const { code, screen } = await inTerminal(home, ["login", url]);
  expect(code, screen).toBe(0);
  expect(screen).toContain(`Open ${url}/device and enter this code: BCDF-GHJK`);
  expect(screen).toContain(`Logged in to ${url} as ada.`);
  expect(screen).not.toContain("aus_new");
  expect(readFileSync(notes, "utf8")).toBe(`${url}/device\n`);
  expect(keptToken()).toBe("aus_new");
  const poll = { client_id: "auspex", grant_type: DEVICE_GRANT, device_code: "ausd_secret" };
  expect(forms).toEqual([
    ["/oauth/device_authorization", { client_id: "auspex", device_name: hostname() }],
    ...Array.from({ length: 3 }, () => ["/oauth/token", poll]),
  ]);
});

test("login opens no browser with --no-browser, and shows the code also with --quiet", async () => {
  const notes = withBrowser();
  const { code, screen } = await inTerminal(home, ["login", url, "--no-browser", "--quiet"]);
  expect(code, screen).toBe(0);
  expect(screen).toContain("BCDF-GHJK");
  expect(existsSync(notes)).toBe(false);
});

const refusals: [DeviceRefusal["error"], string][] = [
  ["access_denied", "It says access_denied."],
  ["expired_token", "Run auspex login again."],
  ["invalid_grant", "Run auspex login again."],
];
test.each(refusals.slice(0, sized(1, refusals.length)))(
  "login ends with an answer %s",
  async (error, message) => {
    polls = [refused(error)];
    const { code, screen } = await inTerminal(home, ["login", url]);
    expect([code, screen]).toEqual([1, expect.stringContaining(message)]);
    expect(forms).toHaveLength(2);
  },
);

test("login ends when the code has expired, also if nobody answers", async () => {
  begun = [200, { ...BEGUN, expires_in: 1 }];
  polls = [[503, {}]];
  const { code, screen } = await inTerminal(home, ["login", url]);
  expect([code, screen]).toEqual([1, expect.stringContaining("The code has expired.")]);
});

test("login waits longer after it was told to slow down, and stops at once on Ctrl-C", async () => {
  polls = [refused("slow_down"), refused("authorization_pending")];
  const began = performance.now();
  const { code } = await inTerminal(home, ["login", url], {
    after: /Waiting for the approval/,
    keys: async () => {
      while (forms.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return "\x03";
    },
  });
  expect(code).toBe(130);
  expect(forms).toHaveLength(2);
  expect(performance.now() - began).toBeLessThan(15_000);
});

test("login says what is wrong where a deployment refuses to begin", async () => {
  const problem = { type: "urn:auspex:too_many_requests", title: "Too many", status: 429 };
  begun = [429, { ...problem, detail: "Too many login attempts.", request_id: "1" }];
  const { code, screen } = await inTerminal(home, ["login", url]);
  expect([code, screen]).toEqual([1, expect.stringContaining("Too many login attempts.")]);
});

test("login asks for a token with --token, and says without a terminal where to get one", async () => {
  const { code } = await inTerminal(home, ["login", url, "--token"], {
    after: /Token \(create one at/,
    keys: "aus_new\r",
  });
  expect([code, keptToken(), forms]).toEqual([0, "aus_new", []]);
  const { code: refused, err } = await home.call(["login", url]);
  expect([refused, err]).toEqual([2, expect.stringContaining(`create one at ${url}/tokens`)]);
});
