/** `auspex whoami`, `usage` and `open`, and references without an owner. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home } from "../support/command.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";
import { sha256 } from "../support/memory-registry.ts";
import { inTerminal } from "../support/terminal.ts";

let deployment: FakeDeployment;
let home: Home;
beforeEach(async () => {
  deployment = await FakeDeployment.open();
  home = new Home({ AUSPEX_URL: deployment.url, AUSPEX_TOKEN: "aus_x" });
  const image = Buffer.from("{}");
  const versions = [{ image: sha256(image), release_notes: "First" }];
  deployment.models.set("story", { name: "story", visibility: "private", versions });
  deployment.registry.manifests.set("latest", { type: "", bytes: image });
});
afterEach(() => {
  deployment.close();
  home.remove();
});

test("whoami prints the account and the deployment", async () => {
  const { url } = deployment;
  expect(await home.call(["whoami"])).toEqual({ code: 0, out: `ada at ${url}\n`, err: "" });
  const told = JSON.parse((await home.call(["whoami", "--json"])).out);
  expect(told).toEqual({ username: "ada", url, kind: "user", role: null });
  const fresh = await new Home().call(["whoami"]);
  expect(fresh).toMatchObject({ code: 2, err: expect.stringContaining("Not logged in.") });
});

test("usage prints this month's runs, failures, time and cost by model", async () => {
  const { out } = await home.call(["usage"]);
  expect(out).toMatch(/^Since 2026-11-01 \(UTC\)\nMODEL +RUNS +FAILED +TIME +COST\n/);
  expect(out).toMatch(/\nada\/story +12 +2 +3m 05s +\$0\.0016\ntotal +12 +2 +3m 05s +\$0\.0016\n/);
  expect(out).toContain("files  2.0 MB of 1.0 GB");
  const { month } = JSON.parse((await home.call(["usage", "--json"])).out);
  expect(month.models).toMatchObject([{ model: "ada/story", execution_seconds: 185 }]);
});

test("usage without prices says so instead of an empty column of costs", async () => {
  deployment.cost = "0";
  const { out } = await home.call(["usage"]);
  expect(out).toMatch(/\nMODEL +RUNS +FAILED +TIME *\n/);
  expect(out).toContain(
    "No prices are set for the hardware, so costs are unknown. An operator can set them under Fleet → Hardware.\n",
  );
});

test("usage --by prints a row for each group, with the total", async () => {
  const { out } = await home.call(["usage", "--by", "token", "--to", "2026-11-30"]);
  expect(out).toBe(
    [
      "2026-11-01 to 2026-11-30 (UTC)",
      "TOKEN      RUNS  FAILED  TIME    COST",
      "CI         6     1       1m 33s  $0.0016",
      "Dashboard  6     1       1m 33s",
      "total      12    1       1m 33s  $0.0016",
      "",
    ].join("\n"),
  );
  expect((await home.call(["usage", "--by", "version"])).out).toContain("\nada/story:3  6 ");
  const { groups } = JSON.parse((await home.call(["usage", "--by", "day", "--json"])).out);
  expect(groups[0]).toMatchObject({ day: "2026-11-03", cost: "0.0016" });
});

test("usage --csv prints the file of the deployment, by model unless --by says otherwise", async () => {
  const days = ["--from", "2026-10-01", "--to", "2026-10-31"];
  const csv = await home.call(["usage", "--by", "month", ...days, "--csv"]);
  const query = "group_by=month&from=2026-10-01&to=2026-10-31&format=csv";
  expect(csv).toEqual({ code: 0, out: `query,cost\r\n${query},0\r\n`, err: "" });
  expect((await home.call(["usage", "--csv"])).out).toContain("group_by=model&format=csv,0");
});

test.each([
  [["--by", "colour"], "Use one of day, month, model, version, member, token, hardware."],
  [["--from", "yesterday"], "Use a day such as 2026-11-01."],
  [["--csv", "--json"], "Use --csv or --json, not both."],
])("usage %j is refused", async (args, message) => {
  const { code, err } = await home.call(["usage", ...args]);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
});

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";

test.each([
  [[], "/"],
  [["story"], "/models/ada/story"],
  [["bob/story:3"], "/models/bob/story/versions/3"],
  [[ID], `/predictions/${ID}`],
])("open with %j prints the URL where there is no browser", async (args, path) => {
  const url = `${deployment.url}${path}`;
  expect(await home.call(["open", ...args])).toEqual({ code: 0, out: `${url}\n`, err: "" });
});

test("open gives the URL to the browser in a terminal with a display", async () => {
  const folder = join(home.folder, "bin");
  mkdirSync(folder);
  for (const name of ["xdg-open", "open"]) {
    writeFileSync(join(folder, name), '#!/bin/sh\necho "browser: $1" > /dev/tty\n');
    chmodSync(join(folder, name), 0o755);
  }
  Object.assign(home.environment, { PATH: `${folder}:${home.environment.PATH}`, DISPLAY: ":0" });
  const { code, screen } = await inTerminal(home, ["open", "story"]);
  expect(code).toBe(0);
  expect(screen).toContain(`browser: ${deployment.url}/models/ada/story`);
  expect(screen).toContain(`Opened ${deployment.url}/models/ada/story`);
});

test.each([
  ["versions story", "ada/story:1"],
  ["versions story:1", "ada/story:1  First"],
  ["tags story", "ada/story:latest"],
  ["rollback story:1", "The default version of ada/story is now 1"],
  ["predictions --model story", "ID"],
  ["variables story", "NAME"],
  ["variables delete story HF_TOKEN --yes", "Deleted HF_TOKEN from ada/story."],
  ["versions delete story:1 --yes", "Deleted ada/story:1."],
  ["tags delete story:latest --yes", "Deleted tag ada/story:latest."],
  ["models delete story --yes", "Deleted ada/story."],
])("auspex %s means the caller's own model", async (line, said) => {
  deployment.variables.set("/v1/models/ada/story/variables/HF_TOKEN", "hf_secret");
  const { code, out, err } = await home.call(line.split(" "));
  expect(code, err).toBe(0);
  expect(out).toContain(said);
});
