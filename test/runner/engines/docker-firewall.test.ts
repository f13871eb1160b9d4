// A firewall that another program flushes while containers run, like a restart of firewalld does.
import { describe, expect, it, vi } from "vitest";
import { dockerIsUp, signals } from "../support/containers.ts";
import {
  box,
  executor,
  expectNoContainers,
  flush,
  heard,
  log,
  NEVER,
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
      const next = await box.run(executor, "caller").finish;
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
    withChecksEvery(300);

    it(
      "a firewall that cannot be restored ends all containers and lets none start",
      expectNoContainers,
    );
  });
});
