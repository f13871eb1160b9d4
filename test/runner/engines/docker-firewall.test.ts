// A firewall that another program flushes while containers run, like a restart of firewalld does.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { dockerIsUp, signals } from "../support/containers.ts";
import {
  box,
  executor,
  flush,
  heard,
  log,
  NEVER,
  PATH,
  port,
  refused,
  rules,
  useFirewall,
  withChecksEvery,
} from "../support/firewall-bed.ts";

describe.runIf(dockerIsUp)("a firewall that is flushed", () => {
  useFirewall();

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
  });

  describe("with regular checks", () => {
    withChecksEvery(50);

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
