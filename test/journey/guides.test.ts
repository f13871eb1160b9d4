/** Every runnable example of the guides runs unchanged against a deployment like that of `npm start`. */
import { globSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { pageOf } from "../../src/protocol/common.ts";
import { prediction } from "../../src/protocol/prediction.ts";
import { blocksIn, runBlocks } from "./support/guide-blocks.ts";
import { World } from "./support/world.ts";

/** The settings of `npm start`. Its long leases are fine here, because no runner is lost. */
const SETTINGS = {
  WEBHOOK_ALLOW_INSECURE: "true",
  LEASE_SECONDS: "30",
  CONNECT_SECONDS: "5",
  CANCEL_SECONDS: "60",
  // No resolver listens on port 1: a webhook that an example posts to example.com stays on this machine.
  WEBHOOK_RESOLVER: "http://127.0.0.1:1/dns-query",
};

const guides = await Promise.all(
  ["README.md", ...globSync("src/dashboard/guides/*.md", { cwd: ROOT })].map(async (path) => {
    const blocks = blocksIn(await readFile(join(ROOT, path), "utf8"));
    return { name: basename(path), blocks };
  }),
);
const runnable = guides.filter(({ blocks }) => blocks.length > 0);

let world: World;
let folder: string;
let environment: Record<string, string>;

beforeAll(async () => {
  world = await World.open({ username: "demo", variables: SETTINGS });
  await world.runner("quickstart", { slots: 32, environment: { AUSPEX_CONTAINERS: "8" } });
  const { url } = await world.relay();
  folder = await mkdtemp(join(tmpdir(), "auspex-guides-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const bin = join(folder, "bin");
  await mkdir(bin);
  await symlink(process.execPath, join(bin, "node"));
  environment = {
    PATH: [bin, "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
    AUSPEX_URL: url,
    AUSPEX_TOKEN: world.access.token,
    // No registry listens on port 9: an example that asks a registry for anything fails.
    npm_config_registry: "http://127.0.0.1:9/",
    npm_config_update_notifier: "false",
  };
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

test.concurrent.each(runnable)("the examples of $name run", async ({ name, blocks }) => {
  const own = join(folder, name);
  await mkdir(own);
  await runBlocks(name, blocks, own, environment);
});

const listed = async (query: string) =>
  (await world.client.call(pageOf(prediction), "GET", `/predictions?${query}`)).items;

test("no prediction of the guides' examples fails", async () => {
  const idle = async () => expect(await listed("statuses=pending&statuses=started")).toEqual([]);
  await vi.waitFor(idle, { timeout: 30_000, interval: 200 });
  expect(await listed("statuses=failed")).toEqual([]);
  expect((await listed("statuses=succeeded")).length).toBeGreaterThan(5);
});
