/** `auspex variables`: values can be set, and are never shown again. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home } from "../support/command.ts";
import { Edge } from "../support/edge.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";
import { inTerminal } from "../support/terminal.ts";

let deployment: FakeDeployment;
let edge: Edge;
let home: Home;
beforeEach(async () => {
  deployment = await FakeDeployment.open();
  edge = await Edge.open(deployment.url, 1_000_000);
  home = new Home({ AUSPEX_URL: edge.url, AUSPEX_TOKEN: "aus_x" });
  const configuration = { variable_names: ["HF_TOKEN", "API_KEY"] };
  const versions = [{ image: `sha256:${"a".repeat(64)}`, release_notes: "First", configuration }];
  deployment.models.set("story", { name: "story", visibility: "private", versions });
  deployment.models.set("new", { name: "new", visibility: "private", versions: [] });
});
afterEach(() => {
  edge.close();
  deployment.close();
  home.remove();
});

const set = (name: string, input: string, model = "ada/story") =>
  home.call(["variables", "set", model, name], { input });
const stored = (name: string) => deployment.variables.get(`/v1/models/ada/story/variables/${name}`);

test("a variable is set from a pipe, listed without its value, and its receivers are named", async () => {
  const done = { code: 0, out: "Set HF_TOKEN for ada/story.\n", err: "" };
  expect(await set("HF_TOKEN", "hf_secret\r\n")).toEqual(done);
  expect((await set("OTHER", "two\n\n")).err).toContain(
    "ada/story:1 does not use it. Add it to configuration.variable_names",
  );
  expect((await set("OTHER", "x", "ada/new")).err).toContain("No version uses it yet");
  expect([stored("HF_TOKEN"), stored("OTHER")]).toEqual(["hf_secret", "two\n"]);
  const { out } = await home.call(["variables", "ada/story"]);
  expect(out).toMatch(/^NAME +SET +IN ada\/story:1\n/);
  expect(out).toMatch(/\nHF_TOKEN +20\S+ \S+ +yes\nOTHER +20\S+ \S+ +no\nAPI_KEY +not set +yes\n$/);
  expect(out).not.toContain("hf_secret");
});

test("the variable with the key of a remote version is one that the version uses", async () => {
  const remote = { url: "https://api.example.org/v1", api: "openai", model: "m" };
  const configuration = { interface: "remote", remote: { ...remote, key_variable: "FAR_KEY" } };
  const versions = [{ release_notes: "First", configuration }];
  deployment.models.set("far", { name: "far", visibility: "private", versions });
  expect((await home.call(["variables", "ada/far"])).out).toMatch(/\nFAR_KEY +not set +yes\n$/);
  expect(await set("FAR_KEY", "sk-1", "ada/far")).toMatchObject({ code: 0, err: "" });
});

test("variables are set and listed with --json", async () => {
  const shown = { name: "HF_TOKEN", updated_at: expect.any(String) };
  const args = ["variables", "set", "ada/story", "HF_TOKEN", "--json"];
  const { out, err } = await home.call(args, { input: "hf_secret" });
  expect([JSON.parse(out), err]).toEqual([shown, ""]);
  const { out: list } = await home.call(["variables", "ada/story", "--json"]);
  expect(JSON.parse(list)).toEqual([shown]);
});

test("a variable is set though the answer is lost and no later request is answered", async () => {
  let puts = 0;
  edge.fate = (method) => {
    if (method === "PUT") return ++puts === 1 ? "unanswered" : "pass";
    return puts === 0 ? "pass" : { status: 500 };
  };
  expect(await set("HF_TOKEN", "hf_secret")).toMatchObject({
    code: 0,
    out: "Set HF_TOKEN for ada/story.\n",
  });
  expect([puts, stored("HF_TOKEN")]).toEqual([2, "hf_secret"]);
});

test("a model that does not exist is reported before the value is read", async () => {
  expect(await set("HF_TOKEN", "hf_secret", "ada/stroy")).toMatchObject({ code: 1, out: "" });
  expect(edge.bytesOf("PUT")).toEqual([]);
});

test("a variable without a value, or with a name of the runner's, is not set", async () => {
  const misused = (message: string) => ({ code: 2, err: expect.stringContaining(message) });
  const how = "auspex variables set ada/story HF_TOKEN < value.txt";
  expect(await set("HF_TOKEN", "\n")).toMatchObject(misused(how));
  expect(await set("PATH", "x")).toMatchObject(misused("reserved for the runner"));
  expect(await set("LD_PRELOAD", "x")).toMatchObject(misused("set it in the image instead"));
  expect(edge.bytesOf("PUT")).toEqual([]);
});

test("a value that is typed in a terminal is not on the screen", async () => {
  const args = ["variables", "set", "ada/story", "HF_TOKEN"];
  const typed = { keys: "hf_secret\r", after: /Value for HF_TOKEN/ };
  const { code, screen } = await inTerminal(home, args, typed);
  expect([code, stored("HF_TOKEN")]).toEqual([0, "hf_secret"]);
  expect(screen).toContain("Set HF_TOKEN for ada/story.");
  expect(screen).not.toContain("hf_secret");
});
