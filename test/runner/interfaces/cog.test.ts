/** Cog's servers as processes: their runs, their lies, and their ends. */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Timing } from "../../../runner/src/interfaces/interface.ts";
import { sized } from "../../support/sized.ts";
import { type Box, openBox, QUICK, signals } from "../support/containers.ts";

/** A model that obeys has as long as it needs, on a machine of any load. */
const PATIENT = { ...QUICK, cancelGraceMs: 60_000 };

let box: Box;

async function closeBox(): Promise<void> {
  await box.close();
  // A killed process takes a moment to disappear.
  await vi.waitFor(() => expect(box.processes()).toEqual([]));
}

/** Opens one box for all tests of a group, whose containers stay warm. */
function shareBox(timing: Partial<Timing> = PATIENT): void {
  beforeAll(async () => {
    box = await openBox(8, timing);
  });
  afterAll(closeBox);
}

/** Opens a box for each test of a group. */
function ownBox(timing: Partial<Timing> = PATIENT): void {
  beforeEach(async () => {
    box = await openBox(4, timing);
  });
  afterEach(closeBox);
}

/** Returns the warm containers of a model without variables. */
function warm(name: string) {
  const { container } = box.job(name, {}).keys;
  return box.executor.warm().filter(({ key }) => key === container);
}

/** Returns the process of the model `liar`, which runs in the container that gets the next run. */
const pid = async () => {
  const { reporter, finish } = box.run("liar", { mode: "pid" });
  expect(await finish).toMatchObject({ status: "succeeded" });
  return reporter.of("output")[0];
};

describe("a run", () => {
  shareBox();

  it("a run succeeds with one value", async () => {
    const { reporter, finish } = box.run("hello", { name: "Ada" });
    expect(await finish).toMatchObject({ status: "succeeded", output: "value" });
    expect(reporter.of("output")).toEqual(["Hello, Ada!"]);
    expect(reporter.of("metrics")).toEqual([{ predict_time: expect.any(Number) }]);
    expect(reporter.of("setup").at(-1)).toEqual({ phase: "ready", seconds: expect.any(Number) });
    expect((await finish).setup_seconds).toBeGreaterThan(0);
    expect((await finish).execution_seconds).toBeGreaterThan(0);
  });

  it("a run in a warm container also reports ready first", async () => {
    await box.run("hello", {}).finish;
    const processes = box.processes();
    const { reporter, finish } = box.run("hello", {});
    await finish;
    expect(reporter.events[0]).toEqual({
      event: "setup",
      data: { phase: "ready", seconds: expect.any(Number) },
    });
    expect(box.processes()).toEqual(processes);
  });

  it("a run streams items as they grow, and the logs", async () => {
    const stop = signals();
    const slow = { max_tokens: 500, delay_ms: 1_000 };
    const long = box.run("text-generation", slow, {}, stop);
    await long.reporter.first("output");
    stop.abortCancel();
    expect(await long.finish).toMatchObject({ status: "canceled", output: "items" });
    expect(JSON.stringify(long.reporter.of("setup"))).toContain("trained in");
    const { reporter, finish } = box.run("text-generation", { max_tokens: 12, seed: 1 });
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    expect(reporter.of("output")).toHaveLength(12);
    expect(reporter.of("logs").join("")).toContain("seed 1");
  });

  it("a run takes reports in any order, each item once, and none after the end", async () => {
    const { reporter, finish } = box.run(
      "liar",
      { mode: "disorder" },
      { variables: { ITERATOR: "1" } },
    );
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    expect(reporter.of("output")).toEqual(["a", "b", "c"]);
    expect(reporter.of("logs").join("")).toBe("one\ntwo\nthree\n");
    expect(reporter.of("metrics")).toEqual([{ predict_time: 0.5 }]);
  });

  it("a run waits for a report that is on its way, however long that takes", async () => {
    const { reporter, finish } = box.run("liar", { mode: "slow" });
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual(["at last"]);
  });

  it("a run fails with the model's error", async () => {
    const { reporter, finish } = box.run("sums", { numbers: [1], mode: "fail" });
    const error = { source: "external", message: "Told to fail" };
    expect(await finish).toMatchObject({ status: "failed", output: "none", error });
    expect(reporter.of("logs").join("")).toContain("Told to fail");
  });

  it("a run fails with the last output of a container that crashes", async () => {
    const { reporter, finish } = box.run("liar", { mode: "crash" });
    const message = expect.stringMatching(
      /^The container exited with code 139:\n[\s\S]*segmentation fault/,
    );
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
    expect(reporter.of("logs").join("")).toContain("segmentation fault\n");
    expect(warm("liar")).toEqual([]);
  });

  it("a crash does not report the output of earlier runs", async () => {
    await box.run("sums", { numbers: [4711] }).finish;
    const { finish } = box.run("sums", { numbers: [1, 2, 3], mode: "crash" });
    const { error } = await finish;
    expect(error?.message).toContain("sum of 3 numbers");
    expect(error?.message).not.toContain("4711");
  });

  it("a container gets its next run after a failure that it has outlived", async () => {
    const first = await pid();
    expect(await box.run("liar", { mode: "fail" }).finish).toMatchObject({ status: "failed" });
    expect(await pid()).toBe(first);
  });
});

describe("a start", () => {
  ownBox();

  it("a start forwards the logs of the setup as they grow", async () => {
    const { reporter, finish } = box.run("liar", { mode: "pid" }, { variables: { SETUP: "slow" } });
    expect(await finish).toMatchObject({ status: "succeeded" });
    const starting = reporter.of("setup").filter((data) => JSON.stringify(data).includes("step"));
    expect(starting).toEqual([
      { phase: "starting", logs: "step\n" },
      { phase: "starting", logs: "step\n" },
    ]);
  });

  const ends: [string, RegExp][] = [
    ["fail", /^The model's setup failed:\nno weights$/],
    ["exit", /^The container exited with code 3:\nthe liar is up$/],
    ["old", /older than Cog 0\.7/],
    ["garbage", /response is not Cog's/],
  ];
  it.each(ends.slice(0, sized(1, ends.length)))(
    "a start that ends in %s is reported",
    async (SETUP, message) => {
      const { reporter, finish } = box.run("liar", { mode: "pid" }, { variables: { SETUP } });
      const error = { source: "external", message: expect.stringMatching(message) };
      expect(await finish).toMatchObject({ status: "failed", output: "none", error });
      expect((await finish).setup_seconds).toBeUndefined();
      if (SETUP === "exit")
        expect(JSON.stringify(reporter.of("setup"))).toContain("the liar is up");
    },
  );
});

describe("a container that lies", () => {
  shareBox();

  const lies: [string, string, string][] = [
    ["wrongId", "external", "another prediction's state"],
    ["nan", "external", "The model returned NaN in output[1].score"],
    ["silent", "internal", "idle without having reported"],
    ["invalid", "external", "body.input.name: too long"],
    ["garbage", "external", "something other than the state of a prediction"],
    ["deep", "external", "128 levels"],
    ["many", "external", "2000000 values"],
    ["huge", "external", "exceeds the limits"],
    ["hangUp", "external", "did not accept the prediction"],
    ["selfCanceled", "external", "canceled the prediction without a request"],
    ["full", "internal", "at capacity"],
    ["sync", "external", "asynchronously"],
    ["broken", "external", "rejected the prediction: 500"],
  ];
  it.each(lies.slice(0, sized(2, lies.length)))(
    "a container that lies with %s fails the run",
    async (mode, source, text) => {
      const { reporter, finish } = box.run("liar", { mode });
      const error = { source, message: expect.stringContaining(text) };
      expect(await finish).toMatchObject({ status: "failed", error });
      expect(reporter.of("output")).toEqual([]);
      const trusted = ["invalid", "selfCanceled", "nan"].includes(mode);
      // A trusted container takes the next run, too.
      expect(box.executor.warm()).toHaveLength(trusted ? 1 : 0);
    },
  );

  it("a container is not heard without its token or on another path", async () => {
    const { reporter, finish } = box.run("liar", { mode: "impostor" });
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual([[404, 404]]);
  });
});

describe("a container whose model has died with a run", () => {
  shareBox({ ...PATIENT, failureWatchMs: 60_000 });

  const states = [
    ["0.22 has it", "UNHEALTHY"],
    ["0.16 has it", "DEFUNCT"],
    ["0.9.9 has it", "READY"],
  ];
  it.each(states.slice(0, sized(1, states.length)))(
    "a container whose model has died gets no new run if it reports %s",
    async (_, says) => {
      const first = await pid();
      // The error text is the version's own: only the container's status counts.
      const { finish } = box.run("liar", { mode: "die", says, error: "boom" });
      expect(await finish).toMatchObject({ status: "failed", error: { message: "boom" } });
      expect(box.executor.warm()).toEqual([]);
      expect(await pid()).not.toBe(first);
    },
  );

  const errors = [
    "Worker crashed",
    "Prediction failed for an unknown reason. It might have run out of memory? (exitcode -9)",
  ];
  it.each(errors.slice(0, sized(1, errors.length)))(
    "a container whose model has died is recognized by Cog's own error: %s",
    async (error) => {
      const first = await pid();
      await box.run("liar", { mode: "die", says: "READY", error }).finish;
      expect(await pid()).not.toBe(first);
    },
  );

  it("a container that refuses a later run is replaced, and another one takes the run", async () => {
    const first = await pid();
    const refused = box.run("liar", { mode: "brokenOnce" });
    expect(await refused.finish).toMatchObject({ status: "succeeded" });
    expect(refused.reporter.of("output")).not.toEqual([first]);
    expect(refused.reporter.of("logs")).toEqual([]);
  });
});

describe("cancel and abandon", () => {
  shareBox();

  it("a cancel stops the model", async () => {
    const stop = signals();
    const { reporter, finish } = box.run("sums", { numbers: [1], mode: "slow" }, {}, stop);
    await reporter.first("logs");
    stop.abortCancel();
    expect(await finish).toMatchObject({ status: "canceled", output: "none" });
    expect(warm("sums")).toHaveLength(1);
  });

  it("a cancel ends a run at once while its container starts", async () => {
    const stop = signals();
    const { reporter, finish } = box.run("liar", { mode: "pid" }, {}, stop);
    await reporter.first("setup");
    stop.abortCancel();
    expect(await finish).toMatchObject({ status: "canceled", output: "none" });
  });

  it("a run that is already canceled does nothing", async () => {
    const stop = signals();
    stop.abortCancel();
    const { reporter, finish } = box.run("hello", {}, {}, stop);
    expect(await finish).toMatchObject({ status: "canceled", output: "none" });
    expect(reporter.events).toEqual([]);
  });

  it("a container whose abandoned run stops keeps its other runs", async () => {
    const stop = signals();
    const limits = { max_concurrency: 8 };
    const endless = { max_tokens: 2_000, delay_ms: 200, seed: 1 };
    const first = box.run("text-generation", endless, { limits }, stop);
    const second = box.run("text-generation", { ...endless, max_tokens: 3 }, { limits });
    await Promise.all([first.reporter.first("output"), second.reporter.first("output")]);
    stop.abortAbandon();
    expect(await first.finish).toMatchObject({ status: "canceled" });
    expect(await second.finish).toMatchObject({ status: "succeeded" });
  });

  it("an abandoned run does not affect the next attempt of the same prediction in the same container", async () => {
    const stop = signals();
    const of = { prediction_id: randomUUID(), limits: { max_concurrency: 8 } };
    const input = { max_tokens: 20, delay_ms: 5, seed: 1 };
    const endless = { ...input, delay_ms: 200, max_tokens: 2_000 };
    const lost = box.run("text-generation", endless, { ...of, attempt: 1 }, stop);
    await lost.reporter.first("output");
    const next = box.run("text-generation", input, { ...of, attempt: 2 });
    await next.reporter.first("output");
    stop.abortAbandon();
    expect(await lost.finish).toMatchObject({ status: "canceled" });
    expect(await next.finish).toMatchObject({ status: "succeeded" });
    expect(next.reporter.of("output")).toHaveLength(20);
  });
});

describe("a model that does not stop", () => {
  ownBox({ ...QUICK, cancelGraceMs: 300 });

  it("a cancel kills a container whose model does not stop", async () => {
    const stop = signals();
    const input = { numbers: [1], mode: "slow", ignore_cancel: true, seconds: 60 };
    const { reporter, finish } = box.run("sums", input, {}, stop);
    await reporter.first("logs");
    stop.abortCancel();
    expect(await finish).toMatchObject({ status: "canceled" });
    await vi.waitFor(() => expect(box.processes()).toEqual([]));
  });
});

describe("an abandoned run that does not stop", () => {
  shareBox();

  it("an abandoned run's container is killed at once", async () => {
    const stop = signals();
    const { reporter, finish } = box.run("liar", { mode: "hang" }, {}, stop);
    await reporter.first("setup");
    await vi.waitFor(() => expect(box.executor.warm()).toEqual([]));
    stop.abortAbandon();
    expect(await finish).toMatchObject({ status: "canceled" });
    await vi.waitFor(() => expect(box.processes()).toEqual([]));
  });

  it("a container is killed at once when all its runs are abandoned", async () => {
    const limits = { max_concurrency: 8 };
    const input = { numbers: [1], mode: "slow", ignore_cancel: true, seconds: 60 };
    const stops = [signals(), signals()];
    const runs = stops.map((stop) => box.run("sums", input, { limits }, stop));
    await Promise.all(runs.map(({ reporter }) => reporter.first("logs")));
    for (const stop of stops) stop.abortAbandon();
    for (const { finish } of runs) expect(await finish).toMatchObject({ status: "canceled" });
    await vi.waitFor(() => expect(box.processes()).toEqual([]));
  });

  it("a container is killed once only abandoned runs are left in it", async () => {
    const limits = { max_concurrency: 8 };
    const input = { numbers: [1], mode: "slow", ignore_cancel: true };
    const stop = signals();
    const abandoned = box.run("sums", { ...input, seconds: 60 }, { limits }, stop);
    const wanted = box.run("sums", { ...input, seconds: 0.3 }, { limits });
    await Promise.all([abandoned.reporter.first("logs"), wanted.reporter.first("logs")]);
    stop.abortAbandon();
    expect(await wanted.finish).toMatchObject({ status: "succeeded" });
    expect(await abandoned.finish).toMatchObject({ status: "canceled" });
    await vi.waitFor(() => expect(box.processes()).toEqual([]));
  });

  it("the stop of the runner fails its running runs", async () => {
    const { reporter, finish } = box.run("liar", { mode: "hang" });
    await reporter.first("setup");
    await vi.waitFor(() => expect(box.processes()).not.toEqual([]));
    await box.executor.close();
    expect(await finish).toMatchObject({ status: "failed", error: { source: "internal" } });
  });
});
