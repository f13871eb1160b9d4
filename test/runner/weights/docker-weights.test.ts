/** Weights in real containers: complete before the container starts, and read-only. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DockerEngine } from "../../../runner/src/engines/docker/docker-engine.ts";
import type { Sandbox } from "../../../runner/src/engines/options.ts";
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

const variables = { WEIGHTS: "/models/a.txt", FOLDER: "/src/weights" };

const LEASE = { gpus: [], memory_bytes: 2 ** 28, cpus: 1, shm_bytes: 2 ** 20 };

let box: DockerBox;
let server: WeightServer;
let executor: Executor;
/** The account of a test, whose cache is empty at its start. */
let account = "";

beforeAll(async () => {
  box = await DockerBox.start();
  server = await WeightServer.start();
  box.weightsUrl = server.url;
  await box.push("weights", "weights.mjs");
  await box.push("managed", "weights.mjs", { labels: ["run.cog.weight.base=x"] });
  await box.push("plain", "liar.mjs");
}, 120_000);
afterAll(async () => {
  await server.stop();
  await box.close();
});

/** Opens one executor for all tests of a group. */
function withSandbox(sandbox: Partial<Sandbox>): void {
  beforeAll(async () => {
    executor = box.executor({ containers: 1, sandbox }, silent, 1);
    await executor.open();
  });
  beforeEach(() => {
    account = crypto.randomUUID();
  });
  afterAll(async () => {
    await executor.close();
    expect(await box.containers()).toEqual([]);
    expect(readdirSync(join(box.folder, "weights", "mounts"))).toEqual([]);
  });
}

function run(model: string, weights: JobWeight[], more: JobOptions = {}) {
  const image = { ...(box.images[model] ?? expect.fail(model)), grant: GRANT };
  const plain = makeJob(image, {}, { variables, weights, ...more });
  const job = { ...plain, keys: { ...plain.keys, weights: account } };
  const reporter = record();
  return { reporter, finish: executor.run(job, reporter, signals()) };
}

/** Returns a file, and a weight that Cog packs. */
function bothKinds(model: string): JobWeight[] {
  server.repository = box.images[model]?.repository ?? "";
  const files = { "a/b.txt": Buffer.from("inside"), "large.bin": noise(90_000) };
  return [
    server.cog("/src/weights", [{ compression: "gzip", files }]),
    server.upload("/models/a.txt", Buffer.from("the weights")),
  ];
}

describe.runIf(dockerIsUp)("containers", () => {
  withSandbox({});

  it.each(["weights", "managed"])(
    "containers of the image %s find their weights, read-only",
    async (model) => {
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
    },
  );

  it("containers keep their weights while they run, and cached weights are not fetched again", async () => {
    const weights = bothKinds("weights");
    const limits = { idle_seconds: 0 };
    expect(await run("weights", weights, { limits }).finish).toMatchObject({ status: "succeeded" });
    const { length } = server.requests;
    expect(await run("weights", weights, { limits }).finish).toMatchObject({ status: "succeeded" });
    expect(server.requests).toHaveLength(length);
  });

  it("containers do not start without their weights, nor share with those that have others", async () => {
    const [cog, file] = bothKinds("managed");
    if (!cog || !file) throw new Error("two of them");
    const before = await box.containers("managed");
    server.trouble = (request) => (request.url?.includes("files") ? { status: 404 } : undefined);
    expect((await run("managed", [cog, file]).finish).error).toMatchObject({
      source: "external",
      message: expect.stringContaining(
        "The weights at /models/a.txt: the deployment no longer has it",
      ),
    });
    expect(before).toEqual(expect.arrayContaining(await box.containers("managed")));
    expect((await run("managed", []).finish).error?.message).toContain("managed weights");
    server.trouble = () => undefined;
    expect(await run("managed", [cog, file]).finish).toMatchObject({ status: "succeeded" });
    const elsewhere: JobWeight = { ...file, target: "/elsewhere" };
    const { error } = await run("managed", [cog, elsewhere]).finish;
    expect(error?.message).toContain("exited");
  });
});

describe.runIf(dockerIsUp)("containers of any user", () => {
  withSandbox({ user: "65534:65534", readonly_rootfs: true });

  it("containers of any user with a read-only root find their weights", async () => {
    const { reporter, finish } = run("weights", bothKinds("weights"), {
      variables: { ...variables, HOME: "/tmp" },
    });
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toMatchObject([{ user: 65_534, inside: "inside" }]);
  });
});

describe.runIf(dockerIsUp)("containers without an executor", () => {
  it("containers that Docker cannot give weights fail with the operator's remedy", async () => {
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
      // The source does not exist for Docker, as when the runner is in a container with other folders.
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
