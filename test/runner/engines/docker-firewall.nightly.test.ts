// A firewall of which other programs remove single rules while containers run, as Docker does for a moment.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { dockerIsUp, signals } from "../support/containers.ts";
import {
  box,
  executor,
  expectNoContainers,
  flush,
  log,
  NEVER,
  PATH,
  refused,
  rules,
  run,
  useFirewall,
  withChecksEvery,
} from "../support/firewall-bed.ts";

describe.runIf(dockerIsUp)("a firewall that is flushed", () => {
  useFirewall();

  describe("between two checks", () => {
    withChecksEvery(NEVER);

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
      const next = await box.run(executor, "caller", {}, fresh).finish;
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

    it("containers start again when the firewall can be restored", async () => {
      await expectNoContainers();
      process.env.PATH = PATH;
      const next = await box.run(executor, "caller").finish;
      expect(next).toMatchObject({ status: "succeeded" });
    });
  });
});
