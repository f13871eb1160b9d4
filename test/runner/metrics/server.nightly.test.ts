/** A runner that cannot serve its metrics. */
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startRunner } from "../../../src/dev/runner.ts";
import { FakeControlPlane } from "../support/fake-control-plane.ts";

let folder: string;
let plane: FakeControlPlane;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "auspex-metrics-"));
  plane = await FakeControlPlane.start();
});

afterEach(async () => {
  await plane.stop();
  rmSync(folder, { recursive: true });
});

test("a runner whose address for metrics is taken says so and ends", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  const lines: string[] = [];
  const runner = startRunner({
    url: plane.url,
    token: "ausr_x",
    name: "box",
    hardware: "cpu",
    slots: 1,
    stateFolder: join(folder, "state"),
    models: { owners: [], folder },
    environment: { AUSPEX_METRICS_ADDRESS: `127.0.0.1:${port}` },
    onLine: (line) => lines.push(line),
  });
  await vi.waitFor(() => expect(runner.process.exitCode).toBe(1), { timeout: 30_000 });
  expect(lines.join("\n")).toContain(
    `cannot listen on 127.0.0.1:${port} (--metrics-address): EADDRINUSE`,
  );
  other.close();
});
