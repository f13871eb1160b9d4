/**
 * The commands of `auspex` that list, set and delete, against a real deployment. test/cli/commands covers
 * their questions and their output.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { archiveOf, fakeDocker } from "../cli/support/archives.ts";
import { Home } from "../cli/support/command.ts";
import { World } from "./support/world.ts";

let world: World;
let home: Home;
let digest: string;

beforeAll(async () => {
  world = await World.open({ variables: { IMAGE_REGISTRY: "" }, publish: async () => {} });
  home = new Home({ AUSPEX_URL: world.access.url, AUSPEX_TOKEN: world.access.token });
  const folder = fakeDocker(home.folder, await archiveOf("classic", [Buffer.from("model")]));
  home.environment.PATH = [folder, process.env.PATH].join(delimiter);
  mkdirSync(join(home.folder, "story"));
  writeFileSync(join(home.folder, "story/Dockerfile"), "FROM scratch\n");
  const configuration = { variable_names: ["HF_TOKEN", "API_KEY"] };
  writeFileSync(join(home.folder, "story/auspex.json"), JSON.stringify({ configuration }));
  digest = (await told("publish", "story", "--no-wait")).digest;
  await told("publish", "story", "--no-wait", "--tag", "second");
});
afterAll(async () => {
  home.remove();
  await world.close();
});

const ran = async (...args: string[]) => {
  const { code, out, err } = await home.run(args);
  expect(code, err).toBe(0);
  return out;
};
const told = async (...args: string[]) => JSON.parse(await ran(...args, "--json"));
const refused = async (...args: string[]) => {
  const ended = await home.run(args);
  expect(ended, ended.err).toMatchObject({ code: 1, out: "" });
  return ended.err;
};

it("`auspex tags` lists tags, and removes one", async () => {
  const latest = { tag: "latest", digest };
  expect(await told("tags", "ada/story")).toEqual([latest, { tag: "second", digest }]);
  expect(await told("tags", "ada/story", "--limit", "1")).toEqual([latest]);
  expect(await ran("tags", "ada/story")).toContain(`\nada/story:second  ${digest}\n`);
  await ran("tags", "delete", "ada/story:second", "--yes");
  expect(await told("tags", "ada/story")).toEqual([latest]);
  expect(await refused("tags", "delete", "ada/story:second", "--yes")).toMatch(
    /Tag second not found/,
  );
});

it("`auspex variables` sets variables, lists them all, and deletes one", async () => {
  const set = await home.run(["variables", "set", "ada/story", "HF_TOKEN"], { input: "hf_secret" });
  expect(set).toEqual({ code: 0, out: "Set HF_TOKEN for ada/story.\n", err: "" });
  // 55 variables are more than one page of the list.
  const others = Array.from({ length: 55 }, (_, n) => `OTHER_${String(n).padStart(2, "0")}`);
  for (const name of others)
    await world.client.fetch("PUT", `/models/ada/story/variables/${name}`, {
      body: { value: "x" },
    });
  const names = (await told("variables", "ada/story")).map(({ name }: { name: string }) => name);
  expect(names).toEqual(["HF_TOKEN", ...others]);
  const table = await ran("variables", "ada/story");
  expect(table).toMatch(/\nHF_TOKEN +20\S+ \S+ +yes\n(OTHER.* no\n){55}API_KEY +not set +yes\n$/);
  await ran("variables", "delete", "ada/story", "HF_TOKEN", "--yes");
  expect(await told("variables", "ada/story")).toHaveLength(55);
  expect(await refused("variables", "delete", "ada/story", "HF_TOKEN", "-y")).toContain(
    "The variable 'HF_TOKEN' was not found",
  );
  expect(await refused("variables", "bob/none")).toContain("'bob/none' was not found");
});

it("`auspex rollback` chooses the version that runs, and goes back and forward", async () => {
  expect(await ran("rollback", "ada/story")).toBe(
    "The default version of ada/story is now 1 (was 2).\n",
  );
  expect(await ran("versions", "ada/story")).toMatch(/ada\/story:1 .* default /);
  expect(await refused("rollback", "ada/story")).toContain("has no version before 1");
  expect(await refused("versions", "delete", "ada/story:1", "-y")).toContain(
    "Make another version the default first",
  );
  expect(await refused("rollback", "ada/story:9")).toContain("has no version 9");
  expect(await told("rollback", "ada/story:2")).toEqual({
    model: "ada/story",
    number: 2,
    before: 1,
  });
});

it("`auspex tags delete` keeps an image that versions need or needed, and says until when", async () => {
  const image = ["tags", "delete", `ada/story@${digest}`, "--yes"];
  expect(await refused(...image)).toMatch(/used by versions 2, 1 of .* Delete the versions first/);
  await ran("versions", "delete", "ada/story:1", "--yes");
  expect(await told("versions", "ada/story")).toMatchObject([{ number: 2 }]);
  expect(await refused("versions", "delete", "ada/story:1", "-y")).toContain("not found");
  expect(await refused(...image)).toMatch(/used by version 2 of /);
  await ran("versions", "delete", "ada/story:2", "--yes");
  expect(await refused(...image)).toMatch(
    /may still be using .* You can delete it after 20\S+ \S+ UTC/,
  );
});

it("`auspex models delete` deletes a model", async () => {
  expect(await ran("models", "delete", "ada/story", "--yes")).toBe("Deleted ada/story.\n");
  expect(await refused("tags", "ada/story")).toContain("Image ada/story not found");
  const again = await refused("models", "delete", "ada/story", "--yes", "--json");
  expect(JSON.parse(again)).toMatchObject({ error: { status: 404, exit_code: 1 } });
});

it("`auspex hardware` lists hardware, with prices if there are any", async () => {
  expect(await ran("hardware")).toMatch(/^CLASS +NAME +GPUS +CPUS +RAM\ncpu /);
  const l40s = { name: "NVIDIA L40S", gpus: 2, ram_per_gpu_gb: 48, cpus: 16, price_per_hour: 0.8 };
  await world.operator.fetch("PUT", "/operator/hardware/l40s", { body: l40s });
  const table = await ran("hardware");
  expect(table).toMatch(/^CLASS .* PRICE PER HOUR\n/);
  expect(table).toMatch(/\nl40s +NVIDIA L40S +2 × 48 GB +16 +\$0\.80\n$/);
  expect(await told("hardware")).toContainEqual(
    expect.objectContaining({ identifier: "l40s", price_per_hour: "0.8" }),
  );
});
