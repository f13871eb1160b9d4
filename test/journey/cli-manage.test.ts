/** What `auspex` lists, sets and deletes, against a real deployment. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { model } from "../../src/protocol/model.ts";
import { archiveOf, fakeDocker } from "../cli/support/archives.ts";
import { Home } from "../cli/support/command.ts";
import { Edge } from "../cli/support/edge.ts";
import { World } from "./support/world.ts";

let world: World;
let edge: Edge;
let home: Home;

beforeAll(async () => {
  world = await World.open({ variables: { IMAGE_REGISTRY: "" }, publish: async () => {} });
  edge = await Edge.open(world.access.url, 10 * 1024 * 1024);
  home = new Home({ AUSPEX_URL: edge.url, AUSPEX_TOKEN: world.access.token });
  const folder = fakeDocker(home.folder, await archiveOf("classic", [Buffer.from("model")]));
  home.environment.PATH = [folder, process.env.PATH].join(delimiter);
  await home.run(["init", "greeter", "--template", "node"]);
});
afterAll(async () => {
  edge.close();
  home.remove();
  await world.close();
});

const ran = async (...args: string[]) => {
  const { code, out, err } = await home.run(args);
  expect(code, err).toBe(0);
  return out;
};
const refused = async (code: number, ...args: string[]) => {
  const ended = await home.run(args);
  expect(ended, ended.err).toMatchObject({ code, out: "" });
  return ended.err;
};
const publish = async (...args: string[]) =>
  JSON.parse(await ran("publish", "greeter", "--json", ...args));

describe("what was pushed and published", () => {
  let digest: string;

  it("is listed by its tags", async () => {
    ({ digest } = await publish());
    await publish("--tag", "second");
    expect(JSON.parse(await ran("tags", "ada/greeter", "--json"))).toEqual([
      { tag: "latest", digest },
      { tag: "second", digest },
    ]);
    expect(await ran("tags", "ada/greeter")).toContain(`ada/greeter:second  ${digest}\n`);
    expect(JSON.parse(await ran("tags", "ada/greeter", "--limit", "1", "--json"))).toHaveLength(1);
  });

  it("loses a tag, and nothing that was mistyped", async () => {
    expect(await refused(2, "tags", "delete", "ada/greeter:second")).toContain("add --yes");
    expect(await ran("tags", "delete", "ada/greeter:second", "--yes")).toBe(
      "Deleted the tag ada/greeter:second.\n",
    );
    expect(await refused(1, "tags", "delete", "ada/greeter:second", "--yes")).toMatch(
      /ada\/greeter has no tag second\. auspex tags ada\/greeter lists/,
    );
    expect(await ran("tags", "ada/greeter")).not.toContain("second");
  });

  it("keeps an image that versions need, and says which", async () => {
    const said = await refused(1, "tags", "delete", `ada/greeter@${digest}`, "--yes");
    expect(said).toMatch(/needed by versions 2, 1 of .* Delete the versions first/);
    expect(await ran("tags", "ada/greeter")).toContain("ada/greeter:latest");
  });

  it("loses a version, once, though the answer is lost", async () => {
    expect(await refused(2, "versions", "delete", "ada/greeter", "--yes")).toContain(
      "The number of the version is needed, as in ada/greeter:3.",
    );
    let deletes = 0;
    edge.fate = (method) => (method === "DELETE" && ++deletes === 1 ? "unanswered" : "pass");
    expect(await ran("versions", "delete", "ada/greeter:1", "--yes")).toBe(
      "Deleted ada/greeter:1.\n",
    );
    expect(deletes).toBe(2);
    edge.fate = () => "pass";
    const versions = JSON.parse(await ran("versions", "ada/greeter", "--json"));
    expect(versions).toMatchObject([{ number: 2 }]);
    expect(await refused(1, "versions", "delete", "ada/greeter:1", "-y")).toContain("not found");
  });

  it("goes with its model", async () => {
    expect(await refused(2, "models", "delete", "ada/greeter:2", "--yes")).toContain(
      "A model is owner/name, without a version: ada/greeter",
    );
    // Said before the verb, it holds for it.
    const told = await ran("models", "--json", "delete", "ada/greeter", "--yes");
    expect(JSON.parse(told)).toEqual({ model: "ada/greeter" });
    const again = await refused(1, "models", "delete", "ada/greeter", "--yes", "--json");
    expect(JSON.parse(again)).toMatchObject({ error: { status: 404, exit_code: 1 } });
  });
});

describe("variables", () => {
  const set = (name: string, input: string) =>
    home.run(["variables", "set", "ada/secretive", name], { input });

  beforeAll(async () => {
    mkdirSync(join(home.folder, "secretive"));
    writeFileSync(join(home.folder, "secretive/Dockerfile"), "FROM scratch\n");
    const configuration = { variable_names: ["HF_TOKEN", "API_KEY"] };
    const project = { name: "secretive", configuration };
    writeFileSync(join(home.folder, "secretive/auspex.json"), JSON.stringify(project));
    await ran("publish", "secretive");
  });

  it("are set from a pipe, listed without their values, and deleted", async () => {
    const [listed, other] = [await set("HF_TOKEN", "hf_secret\n"), await set("OTHER", "two\n\n")];
    expect(listed).toEqual({ code: 0, out: "Set HF_TOKEN for ada/secretive.\n", err: "" });
    expect(other.err).toContain("ada/secretive:1 does not get it: list it in");
    const table = await ran("variables", "ada/secretive");
    expect(table).toMatch(/^NAME +SET +IN ada\/secretive:1\n/);
    expect(table).toMatch(/\nHF_TOKEN +20\S+Z +yes\nOTHER +20\S+Z +no\nAPI_KEY +not set +yes\n$/);
    expect(table + listed.out + listed.err).not.toContain("hf_secret");
    expect(await refused(2, "variables", "delete", "ada/secretive", "OTHER")).toContain("--yes");
    await ran("variables", "delete", "ada/secretive", "OTHER", "--yes");
    const names = JSON.parse(await ran("variables", "ada/secretive", "--json"));
    expect(names).toEqual([{ name: "HF_TOKEN", updated_at: expect.any(String) }]);
  });

  it("need a value, a name that may be set, and a model of one's own", async () => {
    expect(await set("HF_TOKEN", "\n")).toMatchObject({
      code: 2,
      err: expect.stringContaining("auspex variables set ada/secretive HF_TOKEN < value.txt"),
    });
    expect(await set("PATH", "x")).toMatchObject({
      code: 2,
      err: expect.stringContaining("reserved for the runner"),
    });
    expect(await refused(1, "variables", "delete", "ada/secretive", "NOPE", "--yes")).toContain(
      "The variable 'NOPE' was not found",
    );
    expect(await refused(1, "variables", "bob/none")).toContain("'bob/none' was not found");
  });
});

it("hardware is listed, with prices if there are any", async () => {
  expect(await ran("hardware")).toMatch(/^CLASS +NAME +GPUS +CPUS +RAM\ncpu /);
  const l40s = { name: "NVIDIA L40S", gpus: 2, ram_per_gpu_gb: 48, cpus: 16, price_per_hour: 0.8 };
  await world.operator.fetch("PUT", "/operator/hardware/l40s", { body: l40s });
  const table = await ran("hardware");
  expect(table).toMatch(/^CLASS .* PRICE PER HOUR\n/);
  expect(table).toMatch(/\nl40s +NVIDIA L40S +2 × 48 GB +16 +0\.8\n$/);
  expect(JSON.parse(await ran("hardware", "--json"))).toContainEqual(
    expect.objectContaining({ identifier: "l40s", price_per_hour: 0.8 }),
  );
});

// `script` of util-linux gives it a terminal; that of BSD is called otherwise.
const hasScript = spawnSync("script", ["--version"]).stdout?.includes("util-linux") ?? false;
it.skipIf(!hasScript)("in a terminal it asks: no leaves all as it is, yes deletes", async () => {
  const body = { name: "asked", visibility: "public" };
  await world.client.call(model, "POST", "/models", { body });
  // Its terminal has no size by itself.
  const sized = ["stty cols 100 rows 30;", process.execPath];
  const command = [...sized, join(ROOT, "src/cli/main.ts"), "models delete ada/asked"];
  const answer = async (key: string) => {
    const terminal = spawn("script", ["-qec", command.join(" "), "/dev/null"], {
      cwd: home.folder,
      env: { ...home.environment, TERM: "xterm", SHELL: "/bin/sh", NO_COLOR: "1" },
    });
    let printed = "";
    terminal.stdout.setEncoding("utf8").on("data", (more: string) => {
      printed += more;
      // It listens once it has drawn the question.
      if (printed.includes("?25l") && /Yes[\s\S]*No/.test(printed)) terminal.stdin.write(key);
    });
    const [, [code]] = await Promise.all([text(terminal.stderr), once(terminal, "close")]);
    return { code, printed };
  };
  expect(await answer("n")).toMatchObject({
    code: 1,
    printed: expect.stringContaining("Nothing was deleted."),
  });
  expect((await world.client.call(model, "GET", "/models/ada/asked")).name).toBe("asked");
  expect(await answer("y")).toMatchObject({
    code: 0,
    printed: expect.stringContaining("Deleted ada/asked."),
  });
  expect((await world.client.fetch("GET", "/models/ada/asked")).status).toBe(404);
});
