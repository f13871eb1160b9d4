/** The memory of real containers. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Dockerode from "dockerode";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { usedMemory } from "../../../runner/src/engines/docker/docker-container.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp, silent } from "../support/containers.ts";
import { DockerBox } from "../support/docker-box.ts";
import { DockerSocket } from "../support/docker-socket.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

it("the memory measurement is given up when Docker is silent", async () => {
  const folder = mkdtempSync(join(tmpdir(), "auspex-silent-"));
  const socketPath = join(folder, "docker.sock");
  const server = createServer().listen(socketPath);
  const container = new Dockerode({ socketPath }).getContainer("x");
  await expect(usedMemory(container, AbortSignal.timeout(100))).rejects.toThrow(/abort/i);
  server.close();
  rmSync(folder, { recursive: true });
});

describe.runIf(dockerIsUp)("the memory of containers", () => {
  let box: DockerBox;
  let executor: Executor;
  let socket: DockerSocket;

  beforeAll(async () => {
    box = await DockerBox.start();
    box.images.hello = await box.registry.push("hello");
    socket = await DockerSocket.open(`${box.folder}/docker.sock`);
  }, 120_000);

  afterAll(async () => {
    socket.goAway();
    await box.close();
  });

  beforeEach(async () => {
    executor = box.executor({ socket: socket.path }, silent, 4, {}, undefined, 50);
    await executor.open();
  });

  afterEach(() => executor.close());

  const told = () => executor.state().containers.map(({ memory_bytes }) => memory_bytes);

  it("the memory of each container is the value of Docker", async () => {
    const runs = ["one", "two"].map((name) =>
      box.run(executor, "hello", { name }, { keys: { container: name, files: "f" } }),
    );
    for (const { finish } of runs) expect(await finish).toMatchObject({ status: "succeeded" });
    await vi.waitFor(() => {
      expect(told()).toHaveLength(2);
      for (const bytes of told()) {
        expect(bytes).toBeGreaterThan(10e6);
        expect(bytes).toBeLessThan(1e9);
      }
    }, 20_000);
    const [id = ""] = await box.containers();
    const [shown = ""] = (
      await docker("stats", "--no-stream", "--format", "{{.MemUsage}}", id)
    ).split(" / ");
    expect(shown).toMatch(/MiB$/);
    const mib = Number.parseFloat(shown);
    const nearest = Math.min(...told().map((bytes = 0) => Math.abs(bytes / 2 ** 20 - mib)));
    expect(nearest).toBeLessThan(0.2 * mib + 5);
  });

  it("the memory is unknown while Docker does not answer, and runs go on", async () => {
    expect(await box.run(executor, "hello", { name: "Ada" }).finish).toMatchObject({
      status: "succeeded",
    });
    await vi.waitFor(() => expect(told()).toEqual([expect.any(Number)]), 20_000);
    socket.goAway();
    await vi.waitFor(() => expect(told()).toEqual([undefined]), 20_000);
    const again = box.run(executor, "hello", { name: "Eve" });
    expect(await again.finish).toMatchObject({ status: "succeeded" });
    await socket.comeBack();
    await vi.waitFor(() => expect(told()).toEqual([expect.any(Number)]), 20_000);
  });
});
