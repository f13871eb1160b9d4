/** The OpenAPI document is linted, and generated clients compile and call a deployment. */
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { USERNAME } from "./support/access.ts";
import { World } from "./support/world.ts";

const run = promisify(execFile);
const CLIENTS = join(ROOT, "test/clients");
const GENERATED = join(CLIENTS, "use/generated");
const DOCUMENT = join(GENERATED, "openapi.json");
/** Redocly's telemetry is off: nothing outside this machine is called. */
const env = { ...process.env, REDOCLY_TELEMETRY: "off" };

let world: World;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one");
  const response = await fetch(`${world.access.url}/v1/openapi.json`);
  await rm(GENERATED, { recursive: true, force: true });
  await mkdir(GENERATED, { recursive: true });
  await writeFile(DOCUMENT, await response.text());
});
afterAll(() => world.close());

const node = (...args: string[]) => run(process.execPath, args, { cwd: CLIENTS, env });

test("spectral reports no error in the document, and redocly nothing at all", async () => {
  expect((await node("lint.mjs", DOCUMENT)).stdout).toBe("");
});

test("clients of openapi-typescript, hey-api and orval compile and run", async () => {
  await node("generate.ts", DOCUMENT, GENERATED);
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  const compiled = await node(compiler, "-p", "use").catch((error) => error);
  expect(compiled.stdout).toBe("");
  const outfile = join(GENERATED, "calls.mjs");
  const entryPoints = [join(CLIENTS, "use/calls.ts")];
  await build({ entryPoints, outfile, bundle: true, platform: "node", format: "esm" });
  const { url, token } = world.access;
  const given = { BASE: `${url}/v1`, TOKEN: token, MODEL: `${USERNAME}/hello` };
  const { stdout } = await run(process.execPath, [outfile], { env: { ...env, ...given } });
  const [first, second, third] = stdout.trim().split("\n");
  expect(first).toBe("openapi-typescript Hello, Ada!");
  expect(second).toBe("hey-api Hello, Ada!");
  expect(third).toBe("orval Hello, Ada!");
});
