/** `auspex publish` that ends early, in a terminal and with a token that is revoked meanwhile. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { COMMAND } from "../../processes/packages.ts";
import { edge, home, MIB, useEngine, usePublish } from "../support/publish-bed.ts";

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
