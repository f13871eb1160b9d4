/** Commands that delete: they ask or need --yes, and delete once even if an answer is lost. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home } from "../support/command.ts";
import { Edge } from "../support/edge.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";
import { sha256 } from "../support/memory-registry.ts";
import { inTerminal } from "../support/terminal.ts";

const IMAGE = Buffer.from("{}");
const DIGEST = sha256(IMAGE);

let deployment: FakeDeployment;
let edge: Edge;
let home: Home;
beforeEach(async () => {
  deployment = await FakeDeployment.open();
  edge = await Edge.open(deployment.url, 1_000_000);
  home = new Home({ AUSPEX_URL: edge.url, AUSPEX_TOKEN: "aus_x" });
  const version = { image: DIGEST, release_notes: "First" };
  deployment.models.set("story", { name: "story", visibility: "private", versions: [version] });
  deployment.variables.set("/v1/models/ada/story/variables/HF_TOKEN", "hf_secret");
  for (const reference of ["latest", "second", DIGEST])
    deployment.registry.manifests.set(reference, { type: "", bytes: IMAGE });
});
afterEach(() => {
  edge.close();
  deployment.close();
  home.remove();
});

const deletes = () => edge.bodies.filter(({ method }) => method === "DELETE").length;

const TAG = { model: "ada/story", reference: "latest" };
const ALL: [args: string, said: string, told: object][] = [
  ["models delete ada/story", "Deleted ada/story.", { model: "ada/story" }],
  ["versions delete ada/story:1", "Deleted ada/story:1.", { model: "ada/story", number: 1 }],
  ["tags delete ada/story:latest", "Deleted the tag ada/story:latest.", TAG],
  [
    `tags delete ada/story@${DIGEST}`,
    `Deleted the image ada/story@${DIGEST}.`,
    { ...TAG, reference: DIGEST },
  ],
  [
    "variables delete ada/story HF_TOKEN",
    "Deleted HF_TOKEN of ada/story.",
    { model: "ada/story", name: "HF_TOKEN" },
  ],
];

test.each(ALL)(
  "%s is refused without --yes in a script, and deletes once with it",
  async (line, said) => {
    const args = line.split(" ");
    const message = "Nobody can be asked here whether this is meant: add --yes.";
    expect(await home.run(args)).toEqual({ code: 2, out: "", err: `auspex: ${message}\n` });
    const { code, out, err } = await home.run([...args, "--json"]);
    expect([code, out, JSON.parse(err)]).toEqual([2, "", { error: { message, exit_code: 2 } }]);
    expect(edge.bodies).toEqual([]);
    expect(await home.run([...args, "--yes"])).toEqual({ code: 0, out: `${said}\n`, err: "" });
    expect(await home.run([...args, "-y"])).toMatchObject({ code: 1, out: "" });
    expect(deletes()).toBe(2);
  },
);

test.each(ALL)("%s deletes once with --json and a lost answer", async (line, _, told) => {
  edge.fate = (method) => (method === "DELETE" && deletes() === 1 ? "unanswered" : "pass");
  const { code, out, err } = await home.run([...line.split(" "), "--yes", "--json"]);
  expect(code, err).toBe(0);
  expect(JSON.parse(out)).toEqual(told);
  expect(deletes()).toBe(2);
});

test("a thing that does not exist is reported, also after a retry", async () => {
  const gone = ["models", "delete", "ada/stroy", "--yes"];
  expect(await home.run(gone)).toMatchObject({ code: 1, out: "" });
  expect(await home.run(["tags", "delete", "ada/story:lates", "--yes"])).toMatchObject({
    code: 1,
    err: "auspex: ada/story has no tag lates. auspex tags ada/story lists those that it has.\n",
  });
  const before = deletes();
  edge.fate = () => (deletes() === before + 1 ? { status: 429 } : "pass");
  const { code, out, err } = await home.run([...gone, "--json"]);
  expect([code, out]).toEqual([1, ""]);
  expect(JSON.parse(err.slice(err.indexOf("{")))).toMatchObject({ error: { status: 404 } });
});

test("--json before the verb applies to it", async () => {
  const { out } = await home.run(["models", "--json", "delete", "ada/story", "--yes"]);
  expect(JSON.parse(out)).toEqual({ model: "ada/story" });
});

test("an argument that names another kind of thing is refused before anything is sent", async () => {
  const says = async (line: string, message: string) =>
    expect(await home.run([...line.split(" "), "--yes"])).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining(message),
    });
  await says(
    "versions delete ada/story",
    "'ada/story' names no version: write its number, as in ada/story:3.",
  );
  await says(
    "models delete ada/story:1",
    "'ada/story:1' is a version: write the model, ada/story.",
  );
  await says("tags delete ada/story", "write owner/name:tag or owner/name@sha256:…");
  await says(
    "tags delete ada/story@latest",
    "'ada/story@latest' is no image: write owner/name:tag",
  );
  await says("variables delete ada/story lower", "upper-case letters");
  expect(edge.bodies).toEqual([]);
});

test("the question about the latest version says which version calls get then", async () => {
  const deleting = async (version: string, after: RegExp) => {
    const { code } = await inTerminal(home, ["versions", "delete", version], { keys: "n", after });
    expect(code).toBe(1);
  };
  await deleting("ada/story:1", /Delete ada\/story:1\? The model has no version then\./);
  const version = { image: DIGEST, release_notes: "More" };
  deployment.models.get("story")?.versions.push(version, version);
  await deleting("ada/story:3", /Calls that name no version get ada\/story:2 then\./);
  await deleting("ada/story:1", /Delete ada\/story:1\?\s/);
});

test("the command asks in a terminal: no leaves everything, yes deletes", async () => {
  const args = ["models", "delete", "ada/story"];
  const after = /Delete ada\/story \(private, 0 runs, version 1\)[\s\S]*Yes[\s\S]*No/;
  expect(await inTerminal(home, args, { keys: "n", after })).toMatchObject({
    code: 1,
    screen: expect.stringContaining("Nothing was deleted."),
  });
  expect(await inTerminal(home, args, { keys: "\u0003", after })).toMatchObject({ code: 130 });
  expect(deletes()).toBe(0);
  expect(await inTerminal(home, args, { keys: "y", after })).toMatchObject({
    code: 0,
    screen: expect.stringContaining("Deleted ada/story."),
  });
  expect(deletes()).toBe(1);
});
