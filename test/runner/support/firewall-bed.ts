/** Containers behind a firewall that tests damage, and a server that counts what comes through. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from "vitest";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import { DockerBox, recordedLog } from "./docker-box.ts";

export const run = promisify(execFile);
export const NEVER = 3_600_000;
export const PATH = process.env.PATH;

export let box: DockerBox;
export let executor: Executor;
let server: Server;
export let port: number;
/** Bytes that containers have sent to this machine. */
export let heard: number;
export const log = recordedLog();

/** Opens one executor for all tests of a group. */
export function withChecksEvery(watch_interval_ms: number): void {
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
export async function rules(): Promise<string[]> {
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
export async function refused(): Promise<number> {
  const [own = ""] = (await rules()).filter((rule) => rule.startsWith("-A AUSPEX"));
  const { stdout } = await run("iptables", ["-w", "5", "-nvxL", own.split(" ")[1] ?? ""]);
  const counts = [...stdout.matchAll(/^ *(\d+) +\d+ REJECT/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

export async function flush(): Promise<void> {
  for (const rule of await rules()) {
    if (!/^-A (?:INPUT|FORWARD|DOCKER-USER) /.test(rule)) continue;
    await run("iptables", ["-w", "5", ...rule.replace("-A", "-D").split(" ")]);
  }
}

/** Puts an iptables that fails into the PATH, which stands for one that was uninstalled. */
export function breakIptables(): void {
  const broken = join(box.folder, "broken");
  mkdirSync(broken, { recursive: true });
  for (const name of ["iptables", "iptables-restore"])
    writeFileSync(join(broken, name), "#!/bin/sh\nexit 4\n", { mode: 0o755 });
  process.env.PATH = `${broken}:${PATH}`;
}

const GONE = {
  source: "internal",
  message: expect.stringMatching(/^The firewall between containers .* restored/),
};

/** Expects that a running container ends and no other one starts when the firewall cannot be restored. */
export async function expectNoContainers(): Promise<void> {
  const caller = box.run(executor, "caller", { port });
  await caller.reporter.first("logs");
  breakIptables();
  expect(await caller.finish).toMatchObject({ status: "failed", error: GONE });
  await vi.waitFor(async () => expect(await box.containers()).toEqual([]), 30_000);
  expect(await box.run(executor, "caller").finish).toMatchObject({ status: "failed", error: GONE });
  expect(log.lines.join()).toContain("iptables-restore");
}

/** Starts the box and the server before all tests of a file. */
export function useFirewall(): void {
  beforeAll(async () => {
    box = await DockerBox.start();
    await box.push("caller", "caller.mjs");
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
}
