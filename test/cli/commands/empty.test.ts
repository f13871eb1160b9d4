/** Empty lists: the head on standard output as always, and a note for people. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Home } from "../support/command.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";

let deployment: FakeDeployment;
let home: Home;
beforeAll(async () => {
  deployment = await FakeDeployment.open();
  home = new Home({ AUSPEX_URL: deployment.url, AUSPEX_TOKEN: "aus_x" });
  deployment.models.set("new", { name: "new", visibility: "private", versions: [] });
  deployment.hardware = [];
});
afterAll(() => {
  deployment.close();
  home.remove();
});

test.each([
  ["predictions", "ID"],
  ["predictions --model ada/new", "ID"],
  ["models", "MODEL"],
  ["versions ada/new", "VERSION"],
  ["tags ada/new", "TAG"],
  ["variables ada/new", "NAME"],
  ["hardware", "CLASS"],
])("auspex %s prints an empty list", async (line, head) => {
  const args = line.split(" ");
  const { code, out, err } = await home.run(args);
  expect([code, err]).toEqual([0, "None.\n"]);
  expect(out).toMatch(new RegExp(`^${head} .*\n$`));
  expect(await home.run([...args, "--quiet"])).toEqual({ code: 0, out, err: "" });
  expect(await home.run([...args, "--json"])).toEqual({ code: 0, out: "[]\n", err: "" });
});

test("the predictions of a model that does not exist are an error", async () => {
  const { code, out, err } = await home.run(["predictions", "--model", "ada/nope"]);
  expect([code, out]).toEqual([1, ""]);
  expect(err).toContain("There is no such thing.");
});
