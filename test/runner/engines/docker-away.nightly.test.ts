/** Real Docker that is restarted, killed or cleaned up while the runner works. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { Egress } from "../../../src/protocol/egress.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp, signals } from "../support/containers.ts";
import { DockerBox } from "../support/docker-box.ts";
import { DockerSocket } from "../support/docker-socket.ts";

vi.setConfig({ testTimeout: 30_000, hookTimeout: 60_000 });

const SLOW = { numbers: [1, 2], mode: "slow", seconds: 2 };

describe.runIf(dockerIsUp)("while Docker is away", () => {
  let box: DockerBox;
  let socket: DockerSocket;
  let executor: Executor;

  beforeAll(async () => {
    box = await DockerBox.start();
    box.images.sums = await box.registry.push("sums");
    socket = await DockerSocket.open(join(box.folder, "docker.sock"));
  });

  afterAll(async () => {
    socket.goAway();
    await box.close();
  });

  beforeEach(async () => {
    executor = box.executor({ socket: socket.path });
    await executor.open();
  });

  afterEach(async () => {
    await executor.close();
    expect(await box.containers()).toEqual([]);
    expect(await box.networks()).toEqual([]);
  });

  it("a run goes on while Docker is away if its container goes on", async () => {
    const { reporter, finish } = box.run(executor, "sums", SLOW);
    await reporter.first("logs");
    socket.goAway();
    await socket.comeBack();
    expect(await finish).toMatchObject({ status: "succeeded" });
  });

  it("a run whose container ends while Docker is away fails once it is back, and the container is removed", async () => {
    const { reporter, finish } = box.run(executor, "sums", { ...SLOW, seconds: 60 });
    await reporter.first("logs");
    const [container = ""] = await box.containers();
    socket.goAway();
    await docker("kill", container);
    await socket.comeBack();
    expect(await finish).toMatchObject({ status: "failed", error: { source: "external" } });
    await vi.waitFor(async () => expect(await box.containers()).toEqual([]), 30_000);
  });

  it("a run that begins while Docker is away waits, and can be cancelled", async () => {
    socket.goAway();
    const stop = signals();
    const cancelled = box.run(executor, "sums", SLOW, {}, stop);
    const { reporter, finish } = box.run(executor, "sums", { numbers: [1, 2] });
    await reporter.first("setup");
    stop.abortCancel();
    expect(await cancelled.finish).toMatchObject({ status: "canceled" });
    await socket.comeBack();
    expect(await finish).toMatchObject({ status: "succeeded" });
    const messages = reporter.of("setup").map((data) => (data as SetupProgress).message);
    expect(messages).toContain("waiting for Docker on the runner's machine");
  });

  it("a run succeeds after the unused networks were removed", async () => {
    const run = (egress: Egress) =>
      box.run(executor, "sums", { numbers: [1, 2] }, { egress, limits: { idle_seconds: 0 } })
        .finish;
    expect(await run("none")).toMatchObject({ status: "succeeded" });
    await vi.waitFor(async () => expect(await box.containers()).toEqual([]), 30_000);
    const names = await box.networks();
    expect(names).toHaveLength(2);
    await docker("network", "rm", ...names);
    expect(await run("public")).toMatchObject({ status: "succeeded" });
    expect((await box.networks()).sort()).toEqual(names.sort());
  });
});
