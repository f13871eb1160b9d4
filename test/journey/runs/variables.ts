/** Variables of models, from the owner's call to the environment of a container. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { variable } from "../../../src/protocol/variable.ts";
import { USERNAME } from "../support/access.ts";
import { endOf } from "../support/end.ts";
import { leaks, runner, world } from "../support/shared.ts";

const MODEL = `${USERNAME}/env`;
const NAMES = ["HF_TOKEN", "GREETING", "UNSET", "UNWANTED", "AUSPEX_RUNNER_TOKEN"];

/** The values are chosen so that a search finds them in any file. */
const FIRST = "hf_first-5f0c1f8e2f6b4c62";
const SECOND = "hf_second-9a550a7a3d3e8b1c";
const LINES = "lines\nof \"quoted\" 'text' $HOME 🔑 = end";
const UNWANTED = "unwanted-81b3c0d9e2f4a6";

const answer = z.object({ pid: z.number(), values: z.record(z.string(), z.string().nullable()) });

const set = (name: string, value: string) =>
  world.client.call(variable, "PUT", `/models/${MODEL}/variables/${name}`, { body: { value } });

async function environment() {
  const watch = await world.create("env", { names: NAMES });
  const full = await endOf(world, watch, "succeeded");
  texts.push(JSON.stringify(full), JSON.stringify(watch.events));
  return answer.parse(full.output);
}

/** All answers and lines that anybody was shown. */
const texts: string[] = [];

const hashOf = (value: string) => createHash("sha256").update(value).digest("hex");

it("containers have the variables that their version names; a change starts another container", async () => {
  await set("HF_TOKEN", FIRST);
  await set("GREETING", LINES);
  await set("UNWANTED", UNWANTED);
  const before = await environment();
  expect(before.values).toEqual({
    HF_TOKEN: hashOf(FIRST),
    GREETING: hashOf(LINES),
    UNSET: null,
    UNWANTED: null,
    AUSPEX_RUNNER_TOKEN: null,
  });
  expect((await environment()).pid).toBe(before.pid);

  await set("HF_TOKEN", SECOND);
  const after = await environment();
  expect(after.values).toMatchObject({ HF_TOKEN: hashOf(SECOND), GREETING: hashOf(LINES) });
  expect(after.pid).not.toBe(before.pid);

  const path = `/models/${MODEL}/variables/HF_TOKEN`;
  expect((await world.client.fetch("DELETE", path)).status).toBe(200);
  expect((await environment()).values).toMatchObject({ HF_TOKEN: null, GREETING: hashOf(LINES) });
});

it("the values of variables appear nowhere but in the processes themselves", async () => {
  const api = [`/models/${MODEL}`, `/models/${MODEL}/variables`, `/models/${MODEL}/versions/1`];
  for (const path of [...api, "/predictions", "/user"])
    texts.push(await (await world.client.fetch("GET", path)).text());
  texts.push(JSON.stringify(await world.runnerStates()));
  expect(runner.lines.length).toBeGreaterThan(3);
  expect(texts.some((text) => text.includes("HF_TOKEN"))).toBe(true);
  expect(leaks([FIRST, SECOND, LINES, UNWANTED], texts)).toEqual([]);

  const files = await everyFile(world.folder);
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    const bytes = await readFile(file);
    const found = [FIRST, SECOND, UNWANTED].filter((secret) => bytes.includes(secret));
    expect([file, found]).toEqual([file, []]);
  }
});

/** Lists the files of the databases, the objects, R2 and the runner. */
async function everyFile(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"))
    .map((entry) => join(entry.parentPath, entry.name));
}
