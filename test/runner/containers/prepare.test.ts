/** Preparation of a container: image and weights are fetched at once, and both are released if one fails. */
import { expect, test } from "vitest";
import { prepare } from "../../../runner/src/containers/launch.ts";
import { specify } from "../../../runner/src/containers/specification.ts";
import type { Engine, ReportProgress } from "../../../runner/src/engines/engine.ts";
import type { Weights } from "../../../runner/src/weights/weights.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { JobWeight } from "../../../src/protocol/weights.ts";
import { makeJob, openBox } from "../support/containers.ts";

const IMAGE = { repository: "r", digest: `sha256:${"a".repeat(64)}` };
const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const FILE: JobWeight = {
  kind: "file",
  target: "/m/a",
  id: ID,
  url: "http://127.0.0.1:9/",
  size: 3,
};
const never = new AbortController().signal;

/** Returns an engine and a weights cache that do what the test says. */
function parts() {
  const [image, mounts] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
  const told: { image?: ReportProgress; weights?: ReportProgress; signal?: AbortSignal } = {};
  const state = { released: 0 };
  const unused = () => expect.fail("it was not asked for");
  const engine: Engine = {
    noMounts: undefined,
    open: unused,
    images: unused,
    start: unused,
    memory: unused,
    close: unused,
    pull(_request, report) {
      told.image = report;
      return image.promise;
    },
  };
  const weights: Pick<Weights, "open"> = {
    async open(_request, report, signal) {
      Object.assign(told, { weights: report, signal });
      await mounts.promise;
      const release = async () => void state.released++;
      return { mounts: [{ source: "/store/a", target: "/m/a" }], release };
    },
  };
  return { engine, weights, image, mounts, told, state };
}

const specification = (weights: JobWeight[] = [FILE]) => specify(makeJob(IMAGE, {}, { weights }));

test("image and weights are fetched at once, with one progress", async () => {
  const { engine, weights, image, mounts, told } = parts();
  const reports: SetupProgress[] = [];
  const preparing = prepare(
    { engine, weights },
    specification(),
    (one) => reports.push(one),
    never,
  );
  told.image?.({ phase: "pulling", message: "5 of 10 MB", progress: 0.5 });
  told.weights?.({ phase: "pulling", message: "loading the weights: 0 of 4 GB", progress: 0 });
  told.weights?.({ phase: "pulling", message: "loading the weights: 1 of 4 GB", progress: 0.25 });
  image.resolve(1_234);
  await image.promise;
  await expect
    .poll(() => {
      told.weights?.({
        phase: "pulling",
        message: "loading the weights: 2 of 4 GB",
        progress: 0.5,
      });
      return reports.at(-1);
    })
    .toEqual({ phase: "pulling", message: "loading the weights: 2 of 4 GB", progress: 0.75 });
  expect(reports.slice(0, 3)).toEqual([
    { phase: "pulling", message: "5 of 10 MB", progress: 0.25 },
    {
      phase: "pulling",
      message: "5 of 10 MB; loading the weights: 0 of 4 GB",
      progress: 0.25,
    },
    {
      phase: "pulling",
      message: "5 of 10 MB; loading the weights: 1 of 4 GB",
      progress: 0.375,
    },
  ]);
  mounts.resolve();
  const prepared = await preparing;
  expect(prepared).toMatchObject({ imageBytes: 1_234, mounts: [{ target: "/m/a" }] });
});

test("a pull that fails ends the fetch of the weights, and releases what it holds", async () => {
  const { engine, weights, image, mounts, told, state } = parts();
  const preparing = prepare({ engine, weights }, specification(), () => {}, never);
  image.reject(new Error("no such image"));
  await expect.poll(() => told.signal?.aborted).toBe(true);
  mounts.resolve();
  await expect(preparing).rejects.toThrow("no such image");
  expect(state.released).toBe(1);
});

test("weights that fail end the start, whatever the pull does", async () => {
  const { engine, weights, image, mounts } = parts();
  const preparing = prepare({ engine, weights }, specification(), () => {}, never);
  mounts.reject(new Error("no such weights"));
  await expect(preparing).rejects.toThrow("no such weights");
  image.reject(new Error("aborted"));
});

test("a start without weights fetches only the image, with its own progress", async () => {
  const { engine, weights, image, told } = parts();
  const reports: SetupProgress[] = [];
  const preparing = prepare(
    { engine, weights },
    specification([]),
    (one) => reports.push(one),
    never,
  );
  told.image?.({ phase: "pulling" });
  image.resolve(7);
  expect(await preparing).toMatchObject({ imageBytes: 7, mounts: [] });
  expect(reports).toEqual([{ phase: "pulling" }]);
});

test("the process engine says that it mounts nothing before it fetches anything", async () => {
  const box = await openBox();
  try {
    const keys = { container: "c", files: "f", weights: "w" };
    const { error } = await box.run("hello", { name: "Ada" }, { keys, weights: [FILE] }).finish;
    expect(error).toMatchObject({
      source: "internal",
      message: expect.stringContaining("--engine docker"),
    });
    expect(await box.run("hello", { name: "Ada" }).finish).toMatchObject({ status: "succeeded" });
  } finally {
    await box.close();
  }
});
