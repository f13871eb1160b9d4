/** The package of `auspex` that a deployment serves. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { Home } from "../cli/support/command.ts";
import { World } from "./support/world.ts";

let world: World;
let home: Home;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one");
  home = new Home({ AUSPEX_URL: world.access.url, AUSPEX_TOKEN: world.access.token });
});
afterAll(async () => {
  home.remove();
  await world.close();
});

it("npx runs the package that the deployment serves", async () => {
  const address = `${world.access.url}/auspex.tgz`;
  const environment = { ...home.environment, npm_config_registry: "http://127.0.0.1:9/" };
  const npx = (...args: string[]) =>
    promisify(execFile)("npx", ["--yes", address, ...args], { cwd: home.folder, env: environment });
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync("src/cli/package.json", "utf8")));
  expect((await npx("--version")).stdout).toMatch(new RegExp(`^${version}\\+[0-9a-f]{8}\n$`));
  expect((await npx("run", "ada/hello", "name=box", "-q")).stdout).toBe("Hello, box!\n");
});
