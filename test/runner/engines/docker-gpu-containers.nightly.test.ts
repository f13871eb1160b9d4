/** GPUs that containers over real Docker see; the GPUs are pretended. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { PretendGpus } from "../../../runner/src/devices/device.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp } from "../support/containers.ts";
import { DockerBox, recordedLog } from "../support/docker-box.ts";

vi.setConfig({ testTimeout: 30_000, hookTimeout: 60_000 });

const inside = z.object({ variables: z.record(z.string(), z.string().nullable()) });

describe.runIf(dockerIsUp)("a container", () => {
  let box: DockerBox;
  let executor: Executor;
  const log = recordedLog();

  beforeAll(async () => {
    box = await DockerBox.start();
    // Images that ask for GPUs like CUDA's base images, and like Cog.
    const config = JSON.stringify({ build: { gpu: true } });
    await box.push("cuda", "insider.mjs", { commands: ["ENV NVIDIA_VISIBLE_DEVICES=all"] });
    await box.push("bare", "insider.mjs", {
      commands: ["ENV NVIDIA_VISIBLE_DEVICES=all", 'RUN ["/bin/busybox", "rm", "/bin/sh"]'],
    });
    await box.push("setup", "liar.mjs", {
      labels: ["run.cog.version=0.16.0", `run.cog.config=${config}`],
      commands: [
        `RUN printf '#!/bin/sh\\necho no CUDA driver; exit 1\\n' >/usr/local/bin/python && chmod +x /usr/local/bin/python`,
      ],
    });
    await box.push("revoked", "revoked.mjs");
    const sandbox = { capabilities: ["MKNOD", "DAC_OVERRIDE"] };
    executor = box.executor({ sandbox }, log, 4, {}, new PretendGpus(3));
    await executor.open();
  }, 120_000);
  afterAll(async () => {
    await executor.close();
    await box.close();
  });

  const classOf = (gpus: number) => ({ hardware: { identifier: `x${gpus}`, gpus } });

  async function visible(model: string, gpus: number, variables: Record<string, string> = {}) {
    const input = { names: ["NVIDIA_VISIBLE_DEVICES"] };
    const more = { ...classOf(gpus), variables };
    const { reporter, finish } = box.run(executor, model, input, more);
    expect(await finish).toMatchObject({ status: "succeeded" });
    return inside.parse(reporter.of("output")[0]).variables.NVIDIA_VISIBLE_DEVICES;
  }

  it("a container of a class with GPUs sees its own", async () => {
    expect(await visible("cuda", 2)).toBe("GPU-pretend-0,GPU-pretend-1");
    expect(await visible("cuda", 1)).toBe("GPU-pretend-2");
    // The shares are parts of the machine, by the number of GPUs.
    const total = Number(await docker("info", "--format", "{{.MemTotal}}"));
    const format = "{{.HostConfig.Memory}} {{.HostConfig.ShmSize}}";
    const shares = await docker("inspect", "--format", format, ...(await box.containers()));
    const of = (gpus: number) => Math.floor((total * 0.9 * gpus) / 3);
    const line = (gpus: number) => `${of(gpus)} ${Math.floor(of(gpus) / 2)}`;
    expect(shares.split("\n").sort()).toEqual([line(1), line(2)].sort());
  });

  it.each(["cuda", "bare"])(
    "a container without GPUs sees none, whatever its image says: %s",
    async (model) => {
      expect(await visible(model, 0)).toBe("void");
      // Variables of a version cannot show GPUs either.
      expect(await visible(model, 0, { NVIDIA_VISIBLE_DEVICES: "all", A: "b" })).toBe("void");
    },
  );

  it("a container whose image asks for a GPU and whose class has none says so when its setup fails", async () => {
    const { error } = await box.run(executor, "setup", {}, classOf(0)).finish;
    expect(error).toMatchObject({
      source: "external",
      message: expect.stringMatching(/requires a GPU, and this hardware has none/),
    });
    const withGpu = await box.run(executor, "setup", {}, classOf(1)).finish;
    expect(withGpu.error?.message).toContain("exited with code 1");
    expect(withGpu.error?.message).not.toContain("requires a GPU");
  });

  it("a container that lost access to its GPUs is replaced, and the log has advice", async () => {
    const fail = () => box.run(executor, "revoked", { device: "/dev/nvidiactl" }, classOf(1));
    const lost = await fail().finish;
    expect(lost.error).toMatchObject({
      source: "internal",
      message: expect.stringMatching(
        /^The container lost access to its GPUs.*native\.cgroupdriver/,
      ),
    });
    expect(log.lines.join()).toMatch(/warn the container lost access to its GPUs.*GPU-pretend-0/);
    await vi.waitFor(async () => expect(await box.containers("revoked")).toEqual([]));
    // A file that the container may open is no sign of lost GPUs.
    const model = await box.run(executor, "revoked", { device: "/dev/other" }, classOf(1)).finish;
    expect(model.error).toMatchObject({
      source: "external",
      message: expect.stringMatching(/CUDA/),
    });
  });
});
