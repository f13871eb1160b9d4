/** Removal of images from real Docker when the disk is full, which it always is in these tests. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp } from "../support/containers.ts";
import { DockerBox, recordedLog } from "../support/docker-box.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** More bytes than any disk has. */
const NEVER_ENOUGH = 2 ** 60;
const AT_ONCE = { limits: { idle_seconds: 0 } };

describe.runIf(dockerIsUp)("on a disk that is full", () => {
  let box: DockerBox;
  let executor: Executor;
  let log: ReturnType<typeof recordedLog>;

  const open = async (free_bytes: number) => {
    const state = join(box.folder, "state");
    executor = box.executor({ state, free_bytes, watch_interval_ms: 20 }, log);
    await executor.open();
  };
  const nameOf = (model: string) => `${box.images[model]?.repository}@${box.images[model]?.digest}`;
  const removals = () => log.lines.filter((line) => line.startsWith("info removed image"));
  const isThere = async (model: string) =>
    docker("image", "inspect", nameOf(model)).then(
      () => true,
      () => false,
    );

  beforeAll(async () => {
    box = await DockerBox.start();
    box.images.hello = await box.registry.push("hello");
    box.images.sums = await box.registry.push("sums");
    await box.push("probe", "insider.mjs");
  }, 120_000);

  afterAll(() => box.close());

  beforeEach(() => {
    log = recordedLog();
  });

  afterEach(() => executor.close());

  it("an unused image that this runner has pulled is removed, and pulled again", async () => {
    await open(NEVER_ENOUGH);
    for (let n = 0; n < 3; n++) {
      const { finish } = box.run(executor, "hello", { name: "Ada" }, AT_ONCE);
      expect(await finish).toMatchObject({ status: "succeeded" });
      await vi.waitFor(() => expect(removals()).toHaveLength(n + 1), 20_000);
      expect(await isThere("hello")).toBe(false);
    }
    expect(removals()[0]).toContain('"why":"the disk is nearly full"');
    expect(removals()[0]).toContain(`"image":"${nameOf("hello")}"`);
    for (const field of ["size_gb", "last_used", "free_before_gb", "free_after_gb"])
      expect(removals()[0]).toContain(`"${field}":`);
  });

  it("an image stays while a container of it runs, and is removed after that", async () => {
    await open(NEVER_ENOUGH);
    const input = { numbers: [1, 2], mode: "slow", seconds: 2 };
    const { reporter, finish } = box.run(executor, "sums", input, AT_ONCE);
    await reporter.first("logs");
    expect(await isThere("sums")).toBe(true);
    expect(await finish).toMatchObject({ status: "succeeded" });
    await vi.waitFor(async () => expect(await isThere("sums")).toBe(false), 20_000);
  });

  it("an image that another process has pulled stays", async () => {
    await open(NEVER_ENOUGH);
    const { finish } = box.run(executor, "probe", {}, AT_ONCE);
    await finish;
    await vi.waitFor(() => expect(log.lines.join()).toContain("nothing left"), 20_000);
    expect(await isThere("probe")).toBe(true);
  });

  it("no image is removed if the operator forbids it", async () => {
    await open(0);
    expect(await box.run(executor, "hello", {}, AT_ONCE).finish).toMatchObject({
      status: "succeeded",
    });
    await executor.close();
    expect(await isThere("hello")).toBe(true);
    // A later process knows that this runner has pulled the image.
    await open(NEVER_ENOUGH);
    await vi.waitFor(async () => expect(await isThere("hello")).toBe(false), 20_000);
  });
});
