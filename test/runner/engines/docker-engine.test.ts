import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { checkEngine } from "../../../runner/src/check/docker.ts";
import { DockerEngine } from "../../../runner/src/engines/docker/docker-engine.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp, type JobOptions, makeJob, signals, silent } from "../support/containers.ts";
import { DockerBox } from "../support/docker-box.ts";
import type { Steps } from "../support/output-box.ts";

describe.runIf(dockerIsUp)("the Docker engine", () => {
  let box: DockerBox;
  let executor: Executor;

  const run = (
    model: string,
    input: Record<string, Json> = {},
    stop = signals(),
    more: JobOptions = {},
  ) => box.run(executor, model, input, more, stop);

  beforeAll(async () => {
    box = await DockerBox.start();
    box.images.sums = await box.registry.push("sums");
    await box.push("files", "files.mjs", { commands: ["ENV DECLARES=1"] });
    executor = box.executor({}, silent, 2);
    await executor.open();
  }, 120_000);

  afterAll(async () => {
    await executor.close();
    expect(await box.containers()).toEqual([]);
    expect(await box.networks()).toEqual([]);
    await box.close();
  });

  it("the engine pulls by digest with progress, runs, and uses the container again", async () => {
    const { reporter, finish } = run("sums", { numbers: [1, 2] }, signals(), { measure: true });
    expect(await finish).toMatchObject({ status: "succeeded", output: "value" });
    // The image of Node alone is larger than this.
    expect((await finish).image_bytes).toBeGreaterThan(50_000_000);
    expect(reporter.of("output")).toEqual([{ operation: "sum", count: 2, result: 3 }]);
    const setup = JSON.stringify(reporter.of("setup"));
    expect(setup).toMatch(/pulling.*starting.*ready/);
    const before = await box.containers("sums");
    await run("sums", { numbers: [1] }).finish;
    expect(await box.containers("sums")).toEqual(before);
    const image = box.images.sums ?? expect.fail("sums");
    const reference = `${image.repository}@${image.digest}`;
    const { keys } = makeJob(image, {});
    expect(executor.warm()).toContainEqual({ key: keys.container, model: "test/model:1" });
    await vi.waitFor(() => expect(executor.images()).toContain(reference));
  });

  it("the engine does not run a local image for another account that only knows its digest", async () => {
    const repository = `${box.registry.host}/eve/files`;
    box.images.stolen = { repository, digest: box.images.files?.digest ?? "" };
    const { finish } = run("stolen");
    const message = expect.stringContaining("cannot be pulled");
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  it("the engine kills a container that does not stop", async () => {
    const stop = signals();
    const input = { numbers: [1], mode: "slow", ignore_cancel: true, seconds: 60 };
    const { reporter, finish } = run("sums", input, stop);
    await reporter.first("logs");
    stop.abortCancel();
    expect(await finish).toMatchObject({ status: "canceled" });
    expect(await box.containers("sums")).toEqual([]);
  });

  it("the engine sweeps containers of an earlier process of the same runner, and nothing else", async () => {
    const repository = box.images.files?.repository ?? "";
    const name = `${box.name}-2`;
    const mine = await docker("run", "-d", "--label", `auspex.runner=${name}`, repository);
    const other = await docker("create", "--label", `auspex.runner=${name}-other`, repository);
    const next = new DockerEngine(name, { kind: "docker" }, silent);
    await next.open(async () => 1);
    const ids = (await docker("ps", "-aq", "--no-trunc")).split("\n");
    expect(ids).not.toContain(mine);
    expect(ids).toContain(other);
    await docker("rm", "--force", other);
    await next.close();
  });

  describe("files out of a container", () => {
    const stored = (address: unknown) => box.plane.files.stored.get(String(address));

    it("files come by the callbackServer, and are read where the output names them", async () => {
      const steps: Steps = [
        { put: { name: "up.png", text: "pixels", type: "image/png", as: "up" } },
        { write: { name: "down.csv", text: "1,2", as: "down" } },
        { say: { value: ["$up", { deep: "$down" }] } },
      ];
      const { reporter, finish } = run("files", { steps });
      expect(await finish).toMatchObject({ status: "succeeded" });
      const [up] = box.plane.files.named("up.png");
      const [down] = box.plane.files.named("down.csv");
      expect(reporter.of("output")).toEqual([[up, { deep: down }]]);
      expect(stored(up)).toMatchObject({ mime_type: "image/png", bytes: Buffer.from("pixels") });
      expect(stored(down)).toMatchObject({
        mime_type: "text/csv; charset=utf-8",
        bytes: Buffer.from("1,2"),
      });
    });

    it("files are accepted only if this run has written them as regular files", async () => {
      const link = { link: { name: "link", target: "/etc/passwd", as: "link" } };
      const refused = async (steps: Steps) => {
        const { error } = await run("files", { steps }).finish;
        expect(error?.source).toBe("external");
        return error?.message;
      };
      const named = (value: string) => refused([{ say: { value } }]);
      expect(await named("file:///etc/passwd")).toContain("was not written by this run");
      expect(await named("file:///proc/1/environ")).toMatch(
        /^The container has no file|no regular/,
      );
      // The container would be stopped after three failures in a row.
      const fine = await run("files", { steps: [{ say: { value: "still here" } }] }).finish;
      expect(fine).toMatchObject({ status: "succeeded" });
      expect(await refused([link, { say: { value: "$link" } }])).toContain("not a regular file");
      expect(await named("file:///tmp")).toContain("not a regular file");
      expect(await named("file:///nowhere")).toBe("The container has no file /nowhere.");
    });
  });

  it("the engine has a check in words", async () => {
    const findings = await checkEngine({ kind: "docker" });
    expect(findings.map(({ name: what }) => what)).toEqual([
      "docker",
      "docker storage",
      "nvidia container toolkit",
      "container isolation",
      "container shares",
      "model variables",
      "container firewall",
    ]);
    expect(findings.filter(({ ok }) => !ok)).toEqual([]);
  });
});
