// A firewall that another program flushes while containers run, like a restart of firewalld does.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import { dockerIsUp, signals } from "../support/containers.ts";
import { DockerBox, recordedLog } from "../support/docker-box.ts";

const run = promisify(execFile);
const NEVER = 3_600_000;
const PATH = process.env.PATH;

describe.runIf(dockerIsUp)("a firewall that is flushed", () => {
  let box: DockerBox;
  let executor: Executor;
  let server: Server;
  let port: number;
  /** Bytes that containers have sent to this machine. */
  let heard: number;
  const log = recordedLog();

  /** Opens one executor for all tests of a group. */
  function withChecksEvery(watch_interval_ms: number): void {
    beforeAll(async () => {
      executor = box.executor({ watch_interval_ms }, log);
      await executor.open();
    });
    afterAll(async () => {
      await executor.close();
      expect(await box.containers()).toEqual([]);
    });
  }

  /** Returns all rules that name the bridge of this box, as `-A …`. */
  async function rules(): Promise<string[]> {
    const { stdout } = await run("iptables", ["-w", "5", "-S"]);
    const [network = ""] = await box.networks();
    const { stdout: options } = await run("docker", [
      "network",
      "inspect",
      "--format",
      '{{index .Options "com.docker.network.bridge.name"}}',
      network,
    ]);
    return stdout.split("\n").filter((line) => line.includes(`AUSPEX-${options.trim()}`));
  }

  /** Returns the packets that were refused since the rules were last restored. */
  async function refused(): Promise<number> {
    const [own = ""] = (await rules()).filter((rule) => rule.startsWith("-A AUSPEX"));
    const { stdout } = await run("iptables", ["-w", "5", "-nvxL", own.split(" ")[1] ?? ""]);
    const counts = [...stdout.matchAll(/^ *(\d+) +\d+ REJECT/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  async function flush(): Promise<void> {
    for (const rule of await rules()) {
      if (!/^-A (?:INPUT|FORWARD|DOCKER-USER) /.test(rule)) continue;
      await run("iptables", ["-w", "5", ...rule.replace("-A", "-D").split(" ")]);
    }
  }

  beforeAll(async () => {
    box = await DockerBox.start();
    await box.push("caller", "caller.mjs");
    await box.push("liar", "liar.mjs");
    server = createServer((socket) => {
      socket.on("data", (bytes) => {
        heard += bytes.length;
      });
      socket.on("error", () => {});
    }).listen(0, "0.0.0.0");
    await once(server, "listening");
    const address = server.address();
    port = address !== null && typeof address === "object" ? address.port : 0;
  }, 120_000);

  afterAll(async () => {
    server.close();
    await box.close();
  });

  beforeEach(() => {
    heard = 0;
    log.lines.length = 0;
  });

  afterEach(() => {
    process.env.PATH = PATH;
  });

  describe("between two checks", () => {
    withChecksEvery(NEVER);

    it("the firewall is restored before the next container starts, and connections of the meantime are cut", async () => {
      const before = await rules();
      const stop = signals();
      const caller = box.run(executor, "caller", { port }, {}, stop);
      await caller.reporter.first("logs");
      expect(caller.reporter.of("logs")).toEqual(["ECONNREFUSED\n"]);

      await flush();
      await vi.waitFor(() => expect(heard).toBeGreaterThan(0), 30_000);
      const next = await box.run(executor, "liar", { mode: "pid" }).finish;
      expect(next, JSON.stringify(next)).toMatchObject({ status: "succeeded" });
      expect((await rules()).sort()).toEqual(before.sort());
      expect(log.lines.join()).toContain(
        "the containers' firewall rules were missing, restoring them",
      );
      // The connection of the meantime is cut: the container sends in vain.
      await vi.waitFor(async () => expect(await refused()).toBeGreaterThan(0), 30_000);
      const cut = heard;
      await vi.waitFor(async () => expect(await refused()).toBeGreaterThan(2), 30_000);
      expect(heard).toBe(cut);
      stop.abortCancel();
      expect(await caller.finish).toMatchObject({ status: "canceled" });
    });

    it("the firewall holds while Docker's own jump is missing, as during the creation of a network", async () => {
      const stop = signals();
      const caller = box.run(executor, "caller", { host: "10.0.0.1", port: 80 }, {}, stop);
      await caller.reporter.first("logs");
      const before = await refused();
      await run("iptables", ["-w", "5", "-D", "FORWARD", "-j", "DOCKER-USER"]);
      try {
        await vi.waitFor(async () => expect(await refused()).toBeGreaterThan(before + 2), 30_000);
      } finally {
        await run("iptables", ["-w", "5", "-I", "FORWARD", "-j", "DOCKER-USER"]);
      }
      stop.abortCancel();
      expect(await caller.finish).toMatchObject({ status: "canceled" });
      expect(caller.reporter.of("logs")).toEqual(["ECONNREFUSED\n"]);
    });

    it("the firewall is restored although another program removes a rule at the same moment", async () => {
      // The script imitates Docker putting its own jump first: the rule is missing, restored and checked again.
      const folder = join(box.folder, "busy");
      mkdirSync(folder);
      const lists = join(folder, "lists");
      const { stdout: iptables } = await run("which", ["iptables"]);
      const script = [
        "#!/bin/sh",
        `case "$*" in *" -S") echo >> ${lists}; [ $(wc -l < ${lists}) -gt 3 ] || hidden="FORWARD -j DOCKER-USER";; esac`,
        `if [ -n "$hidden" ]; then ${iptables.trim()} "$@" | grep -v -- "$hidden"; exit; fi`,
        `exec ${iptables.trim()} "$@"`,
      ];
      writeFileSync(join(folder, "iptables"), `${script.join("\n")}\n`, { mode: 0o755 });
      process.env.PATH = `${folder}:${PATH}`;
      const fresh = { variables: { STYLE: "fresh" } };
      const next = await box.run(executor, "liar", { mode: "pid" }, fresh).finish;
      expect(next, JSON.stringify(next)).toMatchObject({ status: "succeeded" });
      expect(log.lines.join()).toContain(
        "the containers' firewall rules were missing, restoring them",
      );
    });
  });

  describe("with regular checks", () => {
    withChecksEvery(50);

    it("the firewall is restored by itself, whichever rules were removed", async () => {
      const before = (await rules()).sort();
      await flush();
      await vi.waitFor(async () => expect((await rules()).sort()).toEqual(before), 30_000);
      const [own = ""] = before.filter((rule) => rule.startsWith("-A AUSPEX"));
      await run("iptables", ["-w", "5", "-F", own.split(" ")[1] ?? ""]);
      await vi.waitFor(async () => expect((await rules()).sort()).toEqual(before), 30_000);
      const way = ["FORWARD", "-j", "DOCKER-USER"];
      await run("iptables", ["-w", "5", "-D", ...way]);
      await vi.waitFor(() => run("iptables", ["-w", "5", "-C", ...way]), 30_000);
    });

    it("a firewall that cannot be restored ends all containers and lets none start", async () => {
      const caller = box.run(executor, "caller", { port });
      await caller.reporter.first("logs");
      // The broken path stands for an iptables that was uninstalled.
      const broken = join(box.folder, "broken");
      mkdirSync(broken);
      for (const name of ["iptables", "iptables-restore"]) {
        writeFileSync(join(broken, name), "#!/bin/sh\nexit 4\n");
        chmodSync(join(broken, name), 0o755);
      }
      process.env.PATH = `${broken}:${PATH}`;
      const message = expect.stringMatching(/^The firewall between containers .* restored/);
      const error = { source: "internal", message };
      expect(await caller.finish).toMatchObject({ status: "failed", error });
      await vi.waitFor(async () => expect(await box.containers()).toEqual([]), 30_000);
      expect(await box.run(executor, "liar").finish).toMatchObject({ status: "failed", error });
      expect(log.lines.join()).toContain("iptables-restore");
      // Work goes on when the firewall can be restored.
      process.env.PATH = PATH;
      const next = await box.run(executor, "liar", { mode: "pid" }).finish;
      expect(next).toMatchObject({ status: "succeeded" });
    });
  });
});
