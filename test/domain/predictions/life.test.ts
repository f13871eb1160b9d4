/** The life of a prediction, one transition at a time, from pending to its end. */
import { describe, expect, test } from "vitest";
import { PredictionLife } from "../../../src/domain/predictions/life.ts";
import { predictionRow } from "../../../src/domain/predictions/prediction-row.ts";
import { ended, offered, pending, started } from "./life-samples.ts";
import { NOW, specWith } from "./samples.ts";

const names = (life: PredictionLife) =>
  life.takeEvents().map(({ event, data }) => {
    const status = typeof data === "object" && data !== null && "status" in data ? data.status : "";
    return status ? `${event} ${status}` : event;
  });

test("a prediction begins as pending, and its first event carries the resource", () => {
  const life = PredictionLife.create(specWith());
  expect(life.state.status).toBe("pending");
  expect(life.waiting).toBe(true);
  expect(life.takeEvents()).toMatchObject([
    { event: "status", data: { status: "pending", prediction: { id: life.spec.id, error: null } } },
  ]);
  expect(life.takeEvents()).toEqual([]);
});

describe("start", () => {
  test("a start happens once per attempt and names the attempt", () => {
    const life = offered();
    life.start(NOW + 2);
    life.start(NOW + 3);
    expect(life.takeEvents()).toEqual([
      { event: "status", data: { status: "started", attempt: 1 } },
    ]);
    expect(life.state).toMatchObject({ status: "started", updated_at: NOW + 2 });
    expect(life.state.attempt?.started_at).toBe(NOW + 2);
  });

  test("a start needs an attempt", () => {
    const life = pending();
    life.start(NOW + 2);
    expect(life.state.status).toBe("pending");
    expect(names(life)).toEqual([]);
  });

  test("a start is followed by ready, which counts only once", () => {
    const life = started();
    expect(life.attempts.markReady(NOW + 4)).toBe(true);
    expect(life.attempts.markReady(NOW + 5)).toBe(false);
    expect(life.state.attempt?.ready_at).toBe(NOW + 4);
    expect(pending().attempts.markReady(NOW)).toBe(false);
  });
});

describe("finish", () => {
  test("a finish with success has its times and the kind of output", () => {
    const life = started();
    life.finish(
      { status: "succeeded", output: "items", setup_seconds: 0.5, execution_seconds: 2 },
      NOW + 9,
    );
    expect(life.state).toMatchObject({
      status: "succeeded",
      completed_at: NOW + 9,
      setup_seconds: 0.5,
      execution_seconds: 2,
      output: "items",
      error: null,
    });
    expect(names(life)).toEqual(["status succeeded"]);
  });

  test("a finish with failure has the runner's error, or says that there was none", () => {
    const life = started();
    const error = { source: "external", message: "boom", detail: { line: 3 } } as const;
    life.finish({ status: "failed", output: "none", error }, NOW + 9);
    expect(life.state.error).toEqual(error);
    expect(names(life)).toEqual(["error", "status failed"]);

    const silent = started();
    silent.finish({ status: "failed", output: "none" }, NOW + 9);
    expect(silent.state.error).toMatchObject({ source: "internal", detail: null });
  });

  test("a finish as canceled counts only if a cancel was requested", () => {
    const asked = started();
    asked.requestCancel(NOW + 3);
    asked.finish({ status: "canceled", output: "none" }, NOW + 4);
    expect(asked.state.status).toBe("canceled");

    const unasked = started();
    unasked.finish({ status: "canceled", output: "none" }, NOW + 4);
    expect(unasked.state).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("a finish after a cancel is canceled with every result of the model, and its output stays", () => {
    const error = { source: "external", message: "boom" } as const;
    for (const result of [{ status: "succeeded" }, { status: "failed", error }] as const) {
      const life = started();
      life.requestCancel(NOW + 3);
      life.finish({ ...result, output: "value", execution_seconds: 2 }, NOW + 4);
      expect(life.state).toMatchObject({
        status: "canceled",
        error: null,
        output: "value",
        execution_seconds: 2,
      });
      expect(names(life)).toEqual(["status canceled"]);
    }
  });

  test("a second finish changes nothing", () => {
    const life = ended();
    const before = structuredClone(life.state);
    life.finish({ status: "failed", output: "none" }, NOW + 9);
    life.fail("internal", "late", NOW + 9);
    life.lose(true, NOW + 9);
    life.release(true, NOW + 9);
    life.enforceCancel(NOW + 9);
    expect(life.requestCancel(NOW + 9)).toBe(false);
    expect(life.state).toEqual(before);
    expect(names(life)).toEqual([]);
  });
});

describe("cancel", () => {
  test("a cancel before a runner has begun ends the prediction at once", () => {
    for (const life of [pending(), offered()]) {
      expect(life.requestCancel(NOW + 3)).toBe(true);
      expect(life.state).toMatchObject({ status: "canceled", completed_at: NOW + 3 });
      expect(names(life)).toEqual(["status canceled"]);
    }
  });

  test("a cancel of a running prediction is recorded once, and can be enforced", () => {
    const life = started();
    expect(life.requestCancel(NOW + 3)).toBe(true);
    expect(life.requestCancel(NOW + 4)).toBe(true);
    expect(life.state).toMatchObject({ status: "started", cancel_requested_at: NOW + 3 });
    life.enforceCancel(NOW + 63_000);
    expect(life.state.status).toBe("canceled");
  });

  test("a recorded cancel decides the status when a deadline ends the run", () => {
    const life = started();
    life.requestCancel(NOW + 3);
    life.fail("external", "The model did not finish in time.", NOW + 4);
    expect(life.state).toMatchObject({ status: "canceled", error: null });
  });

  test("a cancel that nobody requested is not enforced", () => {
    const life = started();
    life.enforceCancel(NOW + 3);
    expect(life.state.status).toBe("started");
  });

  test("a cancel between two attempts ends the prediction at once", () => {
    const life = started();
    life.lose(false, NOW + 30);
    life.requestCancel(NOW + 31);
    expect(life.state.status).toBe("canceled");
  });
});

test("metrics are merged, and the later value of a name counts", () => {
  const life = started();
  life.mergeMetrics({ input_tokens: 3, output_tokens: 1 });
  life.mergeMetrics({ output_tokens: 9 });
  expect(life.state.metrics).toEqual({ input_tokens: 3, output_tokens: 9 });
});

test("the error and the metrics of a runner are bounded, because they must fit a row and a message", () => {
  const life = started();
  for (let n = 0; n < 300; n++) life.mergeMetrics({ [`m${n}`]: n });
  life.mergeMetrics({ m0: 7 });
  expect(Object.keys(life.state.metrics ?? {})).toHaveLength(100);
  expect(life.state.metrics?.m0).toBe(7);
  const error = { source: "external", message: "boom", detail: ["x".repeat(1_000_000)] } as const;
  life.finish(
    { status: "failed", output: "none", error: { ...error, detail: [...error.detail] } },
    NOW + 9,
  );
  expect(life.state.error).toMatchObject({
    message: "boom",
    detail: expect.stringContaining("1000004"),
  });
});

test("an error and metrics whose every character takes six bytes fit a queue message", () => {
  const life = started();
  const awkward = (n: number) => `${n}`.padEnd(100, "\u0001");
  life.mergeMetrics(Object.fromEntries(Array.from({ length: 100 }, (_, n) => [awkward(n), n])));
  const message = "\u0001".repeat(10_000);
  const error = { source: "external", message, detail: "€".repeat(16_000) } as const;
  life.finish({ status: "failed", output: "none", error }, NOW + 9);
  const row = JSON.stringify(predictionRow(life.spec, life.state, "o".repeat(64), 1));
  expect(new TextEncoder().encode(row).byteLength).toBeLessThan(100_000);
});
