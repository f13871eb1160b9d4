// The guard of the firewall with an iptables that fails on demand: no root and no Docker are needed.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FirewallGuard } from "../../../runner/src/engines/docker/firewall.ts";
import { recordedLog } from "../support/docker-box.ts";

const { PATH } = process.env;
const RULES = { bridge: "br-test", gateway: "172.30.0.1", callbackPort: 1, egress: true };
const CLOSED = { ...RULES, bridge: "br-closed", egress: false };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "auspex-firewall-"));
  const listed = [RULES.bridge, CLOSED.bridge].flatMap((bridge) => [
    ...["INPUT", "FORWARD", "DOCKER-USER"].map(
      (hook) => `-A ${hook} -i ${bridge} -j AUSPEX-${bridge}`,
    ),
    `-N AUSPEX-${bridge}`,
  ]);
  writeFileSync(join(folder, "listed"), ["-A FORWARD -j DOCKER-USER", ...listed, ""].join("\n"));
  const scripts = { iptables: `cat ${folder}/listed`, "iptables-restore": "true" };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n[ ! -e ${folder}/broken ] && ${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  process.env.PATH = `${folder}:${PATH}`;
});
afterEach(() => {
  process.env.PATH = PATH;
  rmSync(folder, { recursive: true });
});

it("the removal of a guard while it restores the rules is no breach", async () => {
  const log = recordedLog();
  const onBreach = vi.fn();
  const guard = new FirewallGuard({ rules: () => [RULES], intervalMs: 5, onBreach, log });
  await guard.install();
  writeFileSync(join(folder, "broken"), "");
  await vi.waitFor(() => expect(log.lines.join()).toContain("were missing, restoring them"));
  const starting = expect(guard.ensure()).rejects.toThrow("cannot be restored");
  await guard.remove();
  await starting;
  expect(log.lines.join()).not.toContain("error");
  expect(onBreach).not.toHaveBeenCalled();
});

it("a stopped guard leaves the rules and restores nothing", async () => {
  const log = recordedLog();
  const onBreach = vi.fn();
  const guard = new FirewallGuard({ rules: () => [RULES], intervalMs: 5, onBreach, log });
  const script = `#!/bin/sh\ncat >> ${folder}/restored\n`;
  writeFileSync(join(folder, "iptables-restore"), script);
  await guard.install();
  await guard.ensure();
  const restored = () => readFileSync(join(folder, "restored"), "utf8");
  const installed = restored();
  expect(installed).toContain("--dport 1 -j ACCEPT");
  await guard.stop();
  writeFileSync(join(folder, "broken"), "");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(restored()).toBe(installed);
  expect(onBreach).not.toHaveBeenCalled();
  expect(log.lines).toEqual([]);
});

it("a bridge that appears during a check has its rules before a container starts on it", async () => {
  const log = recordedLog();
  const rules = [RULES];
  const guard = new FirewallGuard({
    rules: () => [...rules],
    intervalMs: 3_600_000,
    onBreach: vi.fn(),
    log,
  });
  writeFileSync(join(folder, "iptables-restore"), `#!/bin/sh\ncat >> ${folder}/restored\n`);
  await guard.install();
  const during = guard.ensure();
  rules.push(CLOSED);
  await guard.ensure();
  expect(readFileSync(join(folder, "restored"), "utf8")).toContain("AUSPEX-br-closed -j REJECT");
  await during;
  await guard.remove();
  expect(log.lines).toEqual([]);
});
