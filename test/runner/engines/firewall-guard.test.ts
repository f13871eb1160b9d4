// With an iptables that fails on demand: no root and no Docker are needed.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FirewallGuard } from "../../../runner/src/engines/docker/firewall-guard.ts";
import { recordedLog } from "../support/docker-box.ts";

const { PATH } = process.env;
const RULES = { bridge: "br-test", gateway: "172.30.0.1", callbackPorts: [1], egress: true };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "auspex-firewall-"));
  for (const name of ["iptables", "iptables-restore"]) {
    writeFileSync(join(folder, name), `#!/bin/sh\n[ ! -e ${folder}/broken ]\n`);
    chmodSync(join(folder, name), 0o755);
  }
  process.env.PATH = `${folder}:${PATH}`;
});
afterEach(() => {
  process.env.PATH = PATH;
  rmSync(folder, { recursive: true });
});

it("is no breach if the guard is removed while it restores the rules", async () => {
  const log = recordedLog();
  const onBreach = vi.fn();
  const guard = new FirewallGuard({ rules: [RULES], intervalMs: 5, onBreach, log });
  await guard.install();
  writeFileSync(join(folder, "broken"), "");
  await vi.waitFor(() => expect(log.lines.join()).toContain("was gone, restoring it"));
  const starting = expect(guard.ensure()).rejects.toThrow("cannot be restored");
  await guard.remove();
  await starting;
  expect(log.lines.join()).not.toContain("error");
  expect(onBreach).not.toHaveBeenCalled();
});

it("guards the rules that replace others, and no more once another process does", async () => {
  const log = recordedLog();
  const onBreach = vi.fn();
  const guard = new FirewallGuard({ rules: [RULES], intervalMs: 5, onBreach, log });
  const restored = () => readFileSync(join(folder, "restored"), "utf8");
  writeFileSync(join(folder, "iptables-restore"), `#!/bin/sh\ncat > ${folder}/restored\n`);
  await guard.install();
  expect(restored()).toContain("--dport 1 -j ACCEPT");
  await guard.replace([{ ...RULES, callbackPorts: [1, 2] }]);
  expect(restored()).toMatch(/--dport 1 -j ACCEPT[\s\S]*--dport 2 -j ACCEPT/);
  await guard.ensure();
  await guard.leave();
  writeFileSync(join(folder, "broken"), "");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(onBreach).not.toHaveBeenCalled();
  expect(log.lines).toEqual([]);
});

it("replaces one after the other, and installs nothing once it is removed", async () => {
  const log = recordedLog();
  const guard = new FirewallGuard({ rules: [RULES], intervalMs: 1_000, onBreach() {}, log });
  const restored = () => readFileSync(join(folder, "restored"), "utf8");
  // The first takes longer than the second.
  const slow = `#!/bin/sh\nread line; rules=$(cat)\ncase "$rules" in *"dport 2 "*) sleep 0.2;; esac\n`;
  writeFileSync(join(folder, "iptables-restore"), `${slow}echo "$rules" > ${folder}/restored\n`);
  await guard.install();
  const replaced = [2, 3].map((port) => guard.replace([{ ...RULES, callbackPorts: [port] }]));
  await Promise.all(replaced);
  expect(restored()).toContain("--dport 3 -j ACCEPT");
  await guard.remove();
  await guard.replace([{ ...RULES, callbackPorts: [4] }]);
  expect(restored()).toContain("--dport 3 -j ACCEPT");
});

it("restores nothing any more once it has left", async () => {
  const guard = new FirewallGuard({
    rules: [RULES],
    intervalMs: 1_000,
    onBreach() {},
    log: recordedLog(),
  });
  const installs = () => readFileSync(join(folder, "installs"), "utf8").trim().split("\n").length;
  const script = `#!/bin/sh\ncat > /dev/null; sleep 0.1; echo done >> ${folder}/installs\n`;
  writeFileSync(join(folder, "iptables-restore"), script);
  await guard.install();
  const replaced = guard.replace([RULES]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await guard.leave();
  expect(installs()).toBe(2);
  await replaced;
});
