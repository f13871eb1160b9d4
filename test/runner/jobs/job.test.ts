import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import type { Reservation } from "../../../runner/src/jobs/executor.ts";
import { Job } from "../../../runner/src/jobs/job.ts";
import type { Job as JobOrder } from "../../../src/protocol/runner.ts";
import { FakeControlPlane, type FakePrediction } from "../support/fake-control-plane.ts";
import { fakeReservation, jobOrder, settings, silentLog } from "../support/samples.ts";

let plane: FakeControlPlane;
let prediction: FakePrediction;
let order: JobOrder;

beforeEach(async () => {
  plane = await FakeControlPlane.start();
  order = jobOrder();
  prediction = plane.prediction(order.lease);
});

afterEach(() => plane.stop());

const jobOf = (run: Reservation["run"], changes: Partial<JobOrder> = {}) =>
  new Job({
    order: { ...order, ...changes },
    reservation: fakeReservation(run),
    controlPlane: new ControlPlane({ url: plane.url, token: "ausr_x" }),
    settings,
    onReceipt: () => {},
    log: silentLog,
  });

const DONE = { status: "succeeded", output: "value" } as const;
const CANCELED = { status: "canceled", output: "none" } as const;

/** Runs like a model that works until it is stopped. */
const untilStopped: Reservation["run"] = async (_job, _sink, { cancel, abandon }) => {
  const stop = AbortSignal.any([cancel, abandon]);
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve));
  return CANCELED;
};

test("a no-op job is one frame in one request", async () => {
  await jobOf(async ({ input }, reporter) => {
    reporter.setup({ phase: "ready" });
    reporter.output(input.text ?? null);
    return { ...DONE, setup_seconds: 0, execution_seconds: 0.001 };
  }).run();
  expect(prediction.frames).toEqual([
    {
      type: "events",
      seq: 1,
      events: [
        { event: "setup", data: { phase: "ready" } },
        { event: "output", data: "hi" },
      ],
      finish: { ...DONE, setup_seconds: expect.any(Number), execution_seconds: 0.001 },
    },
  ]);
  expect(prediction).toMatchObject({ reports: 1, connections: 0 });
});

test("a job fetches an input that it does not carry, and tries again", async () => {
  const answers = [{ status: 503 }, { body: { input: { text: "large" } } }];
  const leases: unknown[] = [];
  plane.endpoints.set("/v1/runner/input", (_body, request) => {
    leases.push(request.headers["x-auspex-lease"]);
    return answers.shift() ?? { status: 500 };
  });
  // `Math.random` makes retries immediate: a delay is a random part of its bound.
  vi.spyOn(Math, "random").mockReturnValue(-0.99);
  await jobOf(
    async ({ input }, reporter) => {
      reporter.output(input.text ?? null);
      return DONE;
    },
    { input: undefined },
  ).run();
  vi.restoreAllMocks();
  expect(prediction.events.at(-1)).toEqual({ event: "output", data: "large" });
  expect(leases).toEqual([order.lease, order.lease]);
});

test("an input that cannot be fetched is a failure of the service", async () => {
  plane.endpoints.set("/v1/runner/input", () => ({ status: 400 }));
  await jobOf(async () => DONE, { input: undefined }).run();
  expect(prediction.finish).toMatchObject({ status: "failed", error: { source: "internal" } });
});

test("a start that the machine failed is released, with the reason", async () => {
  const error = {
    source: "internal",
    message: "the disk of the runner's machine is full",
  } as const;
  await jobOf(async (_job, reporter) => {
    reporter.setup({ phase: "pulling" });
    return { status: "failed", output: "none", error, hasFailedStart: true };
  }).run();
  await prediction.until(() => prediction.releases.length === 1);
  expect(prediction.releases).toEqual([
    { type: "release", reason: error.message, start_failed: true },
  ]);
  expect(prediction.finish).toBeUndefined();
});

test("a cancel reaches the run", async () => {
  prediction.onConnect = () => prediction.tell({ type: "cancel", reason: "asked for" });
  await jobOf(untilStopped).run();
  expect(prediction.finish?.status).toBe("canceled");
});

test("a run that is canceled without a request is a failure of the runner", async () => {
  await jobOf(async () => CANCELED).run();
  expect(prediction.finish).toMatchObject({ status: "failed", error: { source: "internal" } });
});

test("a fenced attempt is abandoned, and the slot waits for the executor", async () => {
  prediction.onConnect = () => prediction.tell({ type: "fenced", reason: "late" });
  let ended = false;
  await jobOf(async (job, reporter, signals) => {
    await untilStopped(job, reporter, signals);
    expect([signals.abandon.aborted, signals.cancel.aborted]).toEqual([true, false]);
    await new Promise((resolve) => setImmediate(resolve));
    ended = true;
    return CANCELED;
  }).run();
  expect(ended).toBe(true);
  expect(prediction.frames).toEqual([]);
});

test("too much output ends the run as the model's failure, with the number", async () => {
  await jobOf(
    async (job, reporter, signals) => {
      reporter.output("x".repeat(200));
      return untilStopped(job, reporter, signals);
    },
    { limits: { ...order.limits, output_bytes: 100 } },
  ).run();
  expect(prediction.finish).toMatchObject({
    status: "failed",
    error: { source: "external", message: "The output is larger than the limit of 100 bytes" },
  });
});

test("a job is handed back while its container starts", async () => {
  const job = jobOf(async (order, reporter, signals) => {
    reporter.setup({ phase: "starting" });
    return untilStopped(order, reporter, signals);
  });
  const run = job.run();
  await prediction.until(() => prediction.frames.length === 1);
  job.releaseUnstarted("shutting down");
  await run;
  await prediction.until(() => prediction.releases.length === 1);
  expect(prediction.finish).toBeUndefined();
});

test("a job is not handed back once the model runs, and its forced end is a failure", async () => {
  const job = jobOf(async (order, reporter, signals) => {
    reporter.setup({ phase: "ready" });
    reporter.output("half");
    return untilStopped(order, reporter, signals);
  });
  const run = job.run();
  await prediction.until(() => prediction.frames.length === 1);
  job.releaseUnstarted("shutting down");
  job.release("shutting down");
  await run;
  expect(prediction.releases).toEqual([]);
  expect(prediction.finish).toMatchObject({
    status: "failed",
    error: { source: "internal", message: "The run was stopped: shutting down." },
  });
});
