/** A command reads the deployment and the token from its options, variables and stored credentials. */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import {
  credentialsFile,
  loadCredentials,
  readAccess,
  removeCredentials,
  saveCredentials,
} from "../../src/cli/access.ts";
import type { Folders } from "../../src/cli/folders.ts";
import { Home } from "./support/command.ts";

const KEPT = { url: "https://auspex.test", token: "aus_kept", username: "ada" };

let home: string;
let folders: Folders;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "auspex-access-"));
  folders = {
    config: join(home, "config"),
    state: join(home, "state"),
    cache: join(home, "cache"),
  };
});
afterEach(() => rmSync(home, { recursive: true }));

const read = (options = {}, environment = {}) => readAccess(options, environment, folders);

test("options take precedence over variables, and variables over the stored credentials", async () => {
  await saveCredentials(folders, KEPT);
  expect(await read()).toEqual({ url: KEPT.url, token: KEPT.token });
  const environment = { AUSPEX_URL: "https://other.test/", AUSPEX_TOKEN: "aus_variable" };
  const variables = { url: "https://other.test", token: "aus_variable" };
  expect(await read({}, environment)).toEqual(variables);
  expect(await read({}, { AUSPEX_TOKEN: "aus_variable", AUSPEX_URL: "" })).toEqual({
    url: KEPT.url,
    token: "aus_variable",
  });
  const tokenFile = join(home, "token");
  writeFileSync(tokenFile, "aus_file\n");
  const options = { url: "http://localhost:8787", tokenFile };
  expect(await read(options, environment)).toEqual({ url: options.url, token: "aus_file" });
});

test.each([
  ["auspex.example.com/", "https://auspex.example.com"],
  ["auspex.example.com:8443", "https://auspex.example.com:8443"],
  ["localhost:8787", "http://localhost:8787"],
  ["127.0.0.1:8787", "http://127.0.0.1:8787"],
  ["[::1]:8787", "http://[::1]:8787"],
  ["localhost.example.com", "https://localhost.example.com"],
])("the address %s is read as %s", async (AUSPEX_URL, url) => {
  const token = "aus_variable";
  expect(await read({}, { AUSPEX_URL, AUSPEX_TOKEN: token })).toEqual({ url, token });
});

test.each(["ftp://auspex.example.com", "not an address", "https://"])(
  "the address %s is refused",
  async (AUSPEX_URL) => {
    await expect(read({}, { AUSPEX_URL, AUSPEX_TOKEN: "aus_variable" })).rejects.toThrow(
      "AUSPEX_URL: must be a URL such as https://auspex.example.com",
    );
  },
);

test("a stored token goes to its own deployment only", async () => {
  await saveCredentials(folders, KEPT);
  expect(await read({}, { AUSPEX_URL: `${KEPT.url}/` })).toMatchObject({ token: KEPT.token });
  const elsewhere = read({}, { AUSPEX_URL: "https://other.test" });
  await expect(elsewhere).rejects.toThrow(
    /^Not logged in to https:\/\/other\.test\. Run auspex login/,
  );
});

test("an error about a missing or wrong token says what to do and never shows the token", async () => {
  await expect(read()).rejects.toThrow(/Run auspex login, or set AUSPEX_URL/);
  const url = { AUSPEX_URL: "https://auspex.test" };
  const faults: [object, object, RegExp][] = [
    [{ url: "not an address" }, {}, /^--url: must be a URL such as/],
    [{}, { AUSPEX_URL: "ftp://auspex.test" }, /^AUSPEX_URL: /],
    [{}, { ...url, AUSPEX_TOKEN: "ausr_secret" }, /^AUSPEX_TOKEN: this is a runner token/],
    [{}, { ...url, AUSPEX_TOKEN: "secret" }, /^AUSPEX_TOKEN: must be an access token/],
    [{ tokenFile: "/nowhere" }, url, /^--token-file: ENOENT/],
  ];
  for (const [options, environment, message] of faults) {
    const error = await read(options, environment).catch(String);
    expect(String(error).replace("Misuse: ", "")).toMatch(message);
    expect(error).not.toContain("secret");
  }
});

test("credentials are readable by their owner only, and a damaged file counts as none", async () => {
  await saveCredentials(folders, KEPT);
  const file = credentialsFile(folders);
  writeFileSync(file, "{", { mode: 0o644 });
  expect(await loadCredentials(folders)).toBe(undefined);
  rmSync(file);
  writeFileSync(file, "{}", { mode: 0o644 });
  await saveCredentials(folders, KEPT);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await loadCredentials(folders)).toEqual(KEPT);
  await removeCredentials(folders);
  await removeCredentials(folders);
  expect(await loadCredentials(folders)).toBe(undefined);
});

test("logout forgets the token once, and says when there is none", async () => {
  const home = new Home();
  onTestFinished(() => home.remove());
  const file = join(home.folder, "config/auspex/credentials.json");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ url: "https://a.test", token: "aus_x", username: "ada" }));
  const done = {
    code: 0,
    out: "Logged out. Its tokens stay valid until you revoke them.\n",
    err: "",
  };
  expect(await home.call(["logout"])).toEqual(done);
  const again = { code: 0, out: "Not logged in.\n", err: "" };
  expect(await home.call(["logout"])).toEqual(again);
  expect(await home.call(["logout", "--json"])).toMatchObject({ code: 0, out: "{}\n" });
  // A damaged file is removed, too.
  writeFileSync(file, "{");
  expect(await home.call(["logout"])).toEqual(done);
  expect(await home.call(["logout"])).toEqual(again);
});
