/** Containers with weights from a deployment of the tests. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import type { Sandbox } from "../../../runner/src/engines/options.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { JobWeight } from "../../../src/protocol/weights.ts";
import { type JobOptions, makeJob, record, signals, silent } from "./containers.ts";
import { DockerBox } from "./docker-box.ts";
import { GRANT, noise, WeightServer } from "./weight-server.ts";

export const variables = { WEIGHTS: "/models/a.txt", FOLDER: "/src/weights" };

export let box: DockerBox;
export let server: WeightServer;
let executor: Executor;
/** The account of a test, whose cache is empty at its start. */
let account = "";

/** Starts a box with the images that `push` makes for all tests of a file. */
export function useImages(push: (into: DockerBox) => Promise<void>): void {
  beforeAll(async () => {
    box = await DockerBox.start();
    server = await WeightServer.start();
    box.weightsUrl = server.url;
    await push(box);
  }, 120_000);
  afterAll(async () => {
    await server.stop();
    await box.close();
  });
}

/** Opens one executor for all tests of a group. */
export function withSandbox(sandbox: Partial<Sandbox>): void {
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

export function run(model: string, weights: JobWeight[], more: JobOptions = {}) {
  const image = { ...(box.images[model] ?? expect.fail(model)), grant: GRANT };
  const plain = makeJob(image, {}, { variables, weights, ...more });
  const job = { ...plain, keys: { ...plain.keys, weights: account } };
  const reporter = record();
  return { reporter, finish: executor.run(job, reporter, signals()) };
}

/** Returns a file, and a weight that Cog packs. */
export function bothKinds(model: string): JobWeight[] {
  server.repository = box.images[model]?.repository ?? "";
  const files = { "a/b.txt": Buffer.from("inside"), "large.bin": noise(90_000) };
  return [
    server.cog("/src/weights", [{ compression: "gzip", files }]),
    server.upload("/models/a.txt", Buffer.from("the weights")),
  ];
}

/** Expects that a container of the image has its weights, and cannot change them. */
export async function expectReadOnly(model: string): Promise<void> {
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
}
