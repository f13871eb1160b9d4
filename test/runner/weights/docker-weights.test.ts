/** Real containers: their weights are there before they start, and nobody in them can change them. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { DockerEngine } from "../../../runner/src/engines/docker/docker-engine.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { JobWeight } from "../../../src/protocol/weights.ts";
import {
  dockerIsUp,
  type JobOptions,
  makeJob,
  record,
  signals,
  silent,
} from "../support/containers.ts";
import { DockerBox } from "../support/docker-box.ts";
import { GRANT, noise, WeightServer } from "../support/weight-server.ts";

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const variables = { WEIGHTS: "/models/a.txt", FOLDER: "/src/weights" };

const LEASE = { gpus: [], memory_bytes: 2 ** 28, cpus: 1, shm_bytes: 2 ** 20 };

describe.runIf(dockerIsUp)("containers", () => {
  let box: DockerBox;
  let server: WeightServer;
  let executor: Executor;
  /** Of each test: nothing is cached when it begins. */
  let account = "";

  beforeAll(async () => {
    box = await DockerBox.start();
    await box.push("weights", "weights.mjs");
    await box.push("managed", "weights.mjs", { labels: ["run.cog.weight.base=x"] });
    await box.push("plain", "liar.mjs");
  }, 120_000);
  afterAll(() => box.close());

  beforeEach(async () => {
    server = await WeightServer.start();
    account = crypto.randomUUID();
    box.weightsUrl = server.url;
    executor = box.executor({ containers: 1 }, silent, 1);
    await executor.open();
  });
  afterEach(async () => {
    await executor.close();
    await server.stop();
    expect(await box.containers()).toEqual([]);
    expect(readdirSync(join(box.folder, "weights", "mounts"))).toEqual([]);
  });

  function run(model: string, weights: JobWeight[], more: JobOptions = {}) {
    const image = { ...(box.images[model] ?? expect.fail(model)), grant: GRANT };
    const plain = makeJob(image, {}, { variables, weights, ...more });
    const job = { ...plain, keys: { ...plain.keys, weights: account } };
    const reporter = record();
    return { reporter, finish: executor.run(job, reporter, signals()) };
  }

  /** A file, and what Cog packs. */
  function bothKinds(model: string): JobWeight[] {
    server.repository = box.images[model]?.repository ?? "";
    const files = { "a/b.txt": Buffer.from("inside"), "large.bin": noise(9_000_000) };
    return [
      server.cog("/src/weights", [{ compression: "gzip", files }]),
      server.upload("/models/a.txt", Buffer.from("the weights")),
    ];
  }

  it.each(["weights", "managed"])("of the image %s find them, read-only", async (model) => {
    const { reporter, finish } = run(model, bothKinds(model));
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual([
      {
        file: "the weights",
        names: ["a", "a/b.txt", "large.bin"],
        mode: 0o444,
        user: 0,
        append: "EROFS",
        chmod: "EROFS",
        remove: expect.stringMatching(/^E(BUSY|ROFS)$/),
        add: "EROFS",
        removeFromFolder: "EROFS",
        inside: "inside",
      },
    ]);
    const setup = reporter.of("setup").map((data) => data as SetupProgress);
    expect(setup.map(({ message }) => message).join()).toContain("loading the weights");
    expect(setup.map(({ phase }) => phase).join()).toMatch(/pulling,starting.*,ready$/);
  });

  it("find them whoever they run as, with a root that is read-only", async () => {
    await executor.close();
    const sandbox = { user: "65534:65534", readonly_rootfs: true };
    executor = box.executor({ containers: 1, sandbox }, silent, 1);
    await executor.open();
    const { reporter, finish } = run("weights", bothKinds("weights"), {
      variables: { ...variables, HOME: "/tmp" },
    });
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toMatchObject([{ user: 65_534, inside: "inside" }]);
  });

  it("keep them while they run, and what is cached is not fetched for the next", async () => {
    const weights = bothKinds("weights");
    const limits = { idle_seconds: 0 };
    expect(await run("weights", weights, { limits }).finish).toMatchObject({ status: "succeeded" });
    const { length } = server.requests;
    expect(await run("weights", weights, { limits }).finish).toMatchObject({ status: "succeeded" });
    expect(server.requests).toHaveLength(length);
  });

  it("do not start without what they need, nor share with those that have others", async () => {
    const [cog, file] = bothKinds("managed");
    if (!cog || !file) throw new Error("two of them");
    server.trouble = (request) => (request.url?.includes("files") ? { status: 404 } : undefined);
    expect((await run("managed", [cog, file]).finish).error).toMatchObject({
      source: "external",
      message: expect.stringContaining("the weights at /models/a.txt: it is not in the deployment"),
    });
    expect(await box.containers()).toEqual([]);
    expect((await run("managed", []).finish).error?.message).toContain("managed weights");
    server.trouble = () => undefined;
    expect(await run("managed", [cog, file]).finish).toMatchObject({ status: "succeeded" });
    const elsewhere: JobWeight = { ...file, target: "/elsewhere" };
    const { error } = await run("managed", [cog, elsewhere]).finish;
    expect(error?.message).toContain("exited");
  });

  it("that Docker cannot give them say what the operator has to do", async () => {
    const engine = new DockerEngine(`${box.name}-2`, { kind: "docker" }, silent);
    const { signal } = new AbortController();
    const image = box.images.plain ?? expect.fail("plain");
    const model = { owner: "test", name: "plain" };
    await engine.open(async () => 1);
    try {
      await engine.pull({ image, model }, () => {}, signal);
      const hardware = { identifier: "cpu", gpus: 0 };
      const what = { image, model, hardware, interface: "cog" } as const;
      const launch = { ...what, egress: "public", uploadUrl: "" } as const;
      // As where the runner is in a container, and its folders are others than Docker's.
      const mounts = [{ source: join(box.folder, "nowhere"), target: "/models/a" }];
      const starting = engine.start(
        { ...launch, variables: {}, environment: {}, mounts, lease: LEASE },
        signal,
      );
      const failure = await starting.catch((error: unknown) => error);
      expect(failure).toMatchObject({
        source: "internal",
        message: expect.stringContaining("--state"),
      });
      expect(failure).toMatchObject({ message: expect.not.stringContaining(box.folder) });
    } finally {
      await engine.close();
    }
  });
});
