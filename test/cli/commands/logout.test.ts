/** `auspex logout`, with and without a stored token. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Home } from "../support/command.ts";

test("logout forgets the token once, and says when there is none", async () => {
  const home = new Home();
  onTestFinished(() => home.remove());
  const file = join(home.folder, "config/auspex/credentials.json");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ url: "https://a.test", token: "aus_x", username: "ada" }));
  const done = { code: 0, out: "Logged out. The token is valid until you revoke it.\n", err: "" };
  expect(await home.run(["logout"])).toEqual(done);
  const again = { code: 0, out: "Nobody was logged in.\n", err: "" };
  expect(await home.run(["logout"])).toEqual(again);
  expect(await home.run(["logout", "--json"])).toMatchObject({ code: 0, out: "{}\n" });
  // A damaged file is removed, too.
  writeFileSync(file, "{");
  expect(await home.run(["logout"])).toEqual(done);
  expect(await home.run(["logout"])).toEqual(again);
});
