/** The runner's package as operators get it: from the deployment, on a machine that has only Node. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { z } from "zod";
import { folderDigest } from "../../runner/src/engines/process/model-folder.ts";
import { copyExample, exampleNames } from "../../src/dev/examples.ts";
import { packRunner, tarball } from "../../src/dev/packages.ts";
import { fetchCommand, packageName, packageUrl } from "../../src/domain/runners/runner-version.ts";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

const run = promisify(execFile);

/** Patience for what the deployment knows of a runner, whose telemetry comes once a second here. */
const TOLD = { timeout: 5_000, interval: 100 };

let world: World;
let version: string;
let sha256: string;
/** The home folder of an operator on that machine. */
let home: string;
let environment: Record<string, string>;

beforeAll(async () => {
  world = await World.open();
  home = await mkdtemp(join(tmpdir(), "auspex-machine-"));
  ({ version, sha256 } = await packRunner(home));
  const bin = join(home, "bin");
  await mkdir(bin);
  await symlink(process.execPath, join(bin, "node"));
  environment = {
    HOME: home,
    // npm starts the package that it has fetched with a shell.
    PATH: [bin, join(home, "prefix/bin"), "/usr/bin", "/bin"].join(delimiter),
    npm_config_prefix: join(home, "prefix"),
    // No registry listens on port 9: any call to a registry fails.
    npm_config_registry: "http://127.0.0.1:9/",
    npm_config_update_notifier: "false",
  };
});
afterEach(() => world.retireAll());
afterAll(async () => {
  await world.close();
  await rm(home, { recursive: true, force: true });
});

const on = async (command: string, ...args: string[]) =>
  (await run(command, args, { cwd: home, env: environment })).stdout.trim();

test("the same sources make the same bytes, which the deployment serves", async () => {
  const again = await mkdtemp(join(home, "again-"));
  await packRunner(again);
  const bytes = await readFile(join(home, "auspex-runner.tgz"));
  expect(bytes.equals(await readFile(join(again, "auspex-runner.tgz")))).toBe(true);
  const response = await fetch(`${world.access.url}/auspex-runner.tgz`);
  expect(response.status).toBe(200);
  expect(bytes.equals(await response.bytes())).toBe(true);
});

test("a runner started by npx registers, is up to date, works, and drains when npx is stopped", async () => {
  const { url } = world.access;
  expect(await on("npx", "--yes", `${url}/auspex-runner.tgz`, "--version")).toBe(version);
  const runner = await world.runner("boxed", {
    command: ["npx", "--yes", packageUrl(url, version)],
    environment,
  });
  const hello = await endOf(world, await world.create("hello", { name: "box" }), "succeeded");
  expect(hello.output).toMatch(/box/);
  const story = await world.create("text-generation", { seed: 1, max_tokens: 5 });
  await endOf(world, story, "succeeded");
  await vi.waitFor(async () => {
    const [state] = await world.runnerStates();
    expect(state).toMatchObject({ version, latest_version: version, outdated: false });
    expect(state?.machine?.cpus).toBeGreaterThan(0);
    expect(state?.load?.memory_used_gb).toBeGreaterThan(0);
    expect(state?.warm).toHaveLength(2);
  }, TOLD);
  runner.signal("SIGTERM");
  await runner.says(/ stopped$/);
  // npx has ended its wait by then and cannot pass a second signal on, which would only kill npx.
  await vi.waitFor(() => expect(runner.ended).toBe(true), TOLD);
  expect(runner.lines.join("\n")).toMatch(/ draining .* stopped$/s);
  expect(runner.lines.join("\n")).not.toContain("out of date");
});

test("the fleet's command fetches the package that was built, and refuses another", async () => {
  const { url } = world.access;
  const file = packageName({ version, sha256 });
  await on("sh", "-c", fetchCommand(url, { version, sha256 }));
  expect(await on("npx", "--yes", `./${file}`, "--version")).toBe(version);
  const other = { version, sha256: "0".repeat(64) };
  await expect(on("sh", "-c", `${fetchCommand(url, other)} && echo started`)).rejects.toThrow(
    /did NOT match/,
  );
  await on("tar", "-xzf", file);
  const bom = JSON.parse(await readFile(join(home, "package/sbom.cdx.json"), "utf8"));
  const names = bom.components.map(({ name }: { name: string }) => name);
  expect(bom).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6" });
  expect(names).toEqual(expect.arrayContaining(["dockerode", "zod", "tar-stream"]));
  // `ssh2` is a dependency of dockerode that the bundle leaves out.
  expect(names).not.toContain("ssh2");
  for (const name of await exampleNames()) {
    await copyExample(name, join(home, "examples", name));
    const digest = await folderDigest(join(home, "examples", name));
    expect(await folderDigest(join(home, "package/examples", name))).toBe(digest);
  }
});

test("an installed runner knows Docker", async () => {
  await on("npm", "install", "--global", `${world.access.url}/auspex-runner.tgz`);
  expect(await on("auspex-runner", "--version")).toBe(version);
  const socket = join(home, "no.sock");
  const { stdout } = await run("auspex-runner", ["check", "--json", "--docker-socket", socket], {
    cwd: home,
    env: {
      ...environment,
      AUSPEX_URL: world.access.url,
      AUSPEX_RUNNER_TOKEN: "ausr_x",
      AUSPEX_HARDWARE: "cpu",
    },
  }).catch((failed: { stdout: string }) => failed);
  const finding = z.object({ name: z.string(), ok: z.boolean(), detail: z.string() });
  const findings = z.array(finding).parse(JSON.parse(stdout));
  expect(findings).toContainEqual({
    name: "docker",
    ok: false,
    detail: expect.stringContaining("no.sock"),
  });
});

// The command that says how to update names the version for the reason that this test shows.
test("npx starts a cached package of an address again, and fetches one from another address", async () => {
  let served = "1.0.0";
  const server = createServer(async (_, response) => {
    const manifest = { name: "auspex-runner", version: served, bin: "main.js" };
    response.end(
      await tarball("package", [
        ["package.json", JSON.stringify(manifest)],
        ["main.js", `#!/usr/bin/env node\nconsole.log("${served}")`],
      ]),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const start = (of: string) => on("npx", "--yes", packageUrl(`http://127.0.0.1:${port}`, of));
  expect(await start("1.0.0")).toBe("1.0.0");
  served = "2.0.0";
  expect(await start("1.0.0")).toBe("1.0.0");
  expect(await start("2.0.0")).toBe("2.0.0");
  server.close();
});
