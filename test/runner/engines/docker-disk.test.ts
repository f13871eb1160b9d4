/** Images that go when the disk is full, over real Docker: here it always is. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp } from "../support/containers.ts";
import { DockerBox, recordedLog } from "../support/docker-box.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** More than any disk has. */
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
    await box.push("probe", "probe.mjs");
  }, 120_000);

  afterAll(() => box.close());

  beforeEach(() => {
    log = recordedLog();
  });

  afterEach(() => executor.close());

  it("an image goes that this runner has pulled and nothing uses, and comes again", async () => {
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

  it("one stays while a container of it runs, and goes after that", async () => {
    await open(NEVER_ENOUGH);
    const input = { numbers: [1, 2], mode: "slow", seconds: 2 };
    const { reporter, finish } = box.run(executor, "sums", input, AT_ONCE);
    await reporter.first("logs");
    expect(await isThere("sums")).toBe(true);
    expect(await finish).toMatchObject({ status: "succeeded" });
    await vi.waitFor(async () => expect(await isThere("sums")).toBe(false), 20_000);
  });

  it("one stays that somebody else has brought", async () => {
    await open(NEVER_ENOUGH);
    const { finish } = box.run(executor, "probe", {}, AT_ONCE);
    await finish;
    await vi.waitFor(() => expect(log.lines.join()).toContain("nothing is left"), 20_000);
    expect(await isThere("probe")).toBe(true);
  });

  it("nothing goes if the operator wants it so", async () => {
    await open(0);
    expect(await box.run(executor, "hello", {}, AT_ONCE).finish).toMatchObject({
      status: "succeeded",
    });
    await executor.close();
    expect(await isThere("hello")).toBe(true);
    // A later process knows that it was pulled by this runner.
    await open(NEVER_ENOUGH);
    await vi.waitFor(async () => expect(await isThere("hello")).toBe(false), 20_000);
  });
});
