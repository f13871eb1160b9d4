/** `auspex publish` that ends early, with a token that is revoked meanwhile, and the size that it prints. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { manifest } from "../../../src/protocol/oci.ts";
import { COMMAND } from "../../processes/packages.ts";
import { deployment, edge, home, MIB, useEngine, usePublish } from "../support/publish-bed.ts";

usePublish(1.2 * MIB);

test("a token that is revoked while layers are read is reported, not that the engine stopped", async () => {
  await useEngine("classic");
  // The digests of the layers are known from now on, so the registry is asked for them while they are read.
  await home.call(["publish", "story", "--no-wait"]);
  edge.fate = (method) => (method === "HEAD" ? { status: 401 } : "pass");
  const { code, err } = await home.call(["publish", "story", "--no-wait"]);
  expect(code).toBe(1);
  expect(err).toContain("401");
  expect(err).toContain("Log in with auspex login");
  expect(err).not.toContain("save failed");
  edge.fate = () => "pass";
});

test("the printed size is that of the service: the configuration and all layers", async () => {
  await useEngine("oci", undefined, [Buffer.from("small"), Buffer.from("another")]);
  const { err } = await home.call(["publish", "story", "--no-wait"]);
  const { bytes } = deployment.registry.manifests.get("latest") ?? { bytes: Buffer.alloc(0) };
  const { config, layers: sent } = manifest.parse(JSON.parse(bytes.toString()));
  const size = sent.reduce((sum, layer) => sum + layer.size, config.size);
  expect(size).toBeLessThan(1_000);
  expect(err).toContain(`Published ada/story:1 (${size} B compressed)`);
});

test("Ctrl+C while publish waits for a start says that the version is published, and how to start it", async () => {
  await useEngine("oci");
  const waits = () => edge.bodies.some(({ path }) => path === "/v1/predictions");
  edge.fate = (_, path) => (path === "/v1/predictions" ? "held" : "pass");
  const run = home.start(["publish", "story"]);
  await expect.poll(waits, { timeout: 30_000 }).toBe(true);
  run.child.kill("SIGINT");
  const { code, out, err } = await run.end();
  expect([code, out]).toEqual([130, ""]);
  expect(err).toMatch(
    /\nauspex: Interrupted\. ada\/story:1 was published\. To start it, run it: auspex run ada\/story name=world\n$/,
  );
});

// `script` of util-linux gives it a terminal; `script` of BSD has other arguments.
const hasScript = spawnSync("script", ["--version"]).stdout?.includes("util-linux") ?? false;
test.skipIf(!hasScript)(
  "Ctrl+C in a terminal with a progress bar ends a publish cleanly",
  async () => {
    await useEngine("oci");
    edge.fate = (method) => (method === "PATCH" ? "held" : "pass");
    const command = [...COMMAND, "publish", "story"];
    const terminal = spawn("script", ["-qec", command.join(" "), "/dev/null"], {
      cwd: home.folder,
      env: { ...home.environment, TERM: "xterm", SHELL: "/bin/sh" },
    });
    const printed = text(terminal.stdout);
    await expect.poll(() => edge.bytesOf("PATCH").length, { timeout: 30_000 }).toBeGreaterThan(0);
    terminal.stdin.write("\x03");
    const [code] = await once(terminal, "close");
    expect(await printed).toMatch(/auspex: Interrupted\. Run the same command again/);
    expect(code).toBe(130);
  },
);
