/** Every transition of a prediction's life, one by one. */
import { describe, expect, test } from "vitest";
import {
  MAX_LOST_ATTEMPTS,
  MAX_RELEASES,
  PredictionLife,
} from "../../../src/domain/predictions/life.ts";
import { NOW, SECRET, specWith } from "./samples.ts";

function pending() {
  const life = PredictionLife.create(specWith());
  life.takeEvents();
  return life;
}

function offered() {
  const life = pending();
  life.openAttempt(SECRET, NOW + 1);
  return life;
}

function started() {
  const life = offered();
  life.start(NOW + 2);
  life.takeEvents();
  return life;
}

function ended() {
  const life = started();
  life.finish({ status: "succeeded", output: "value" }, NOW + 3);
  life.takeEvents();
  return life;
}

const dismissed = ({ state }: PredictionLife) => state.dismissed.map(({ number }) => number);
const lost = (life: PredictionLife) => life.takeLostAttempts().map(({ number }) => number);

const names = (life: PredictionLife) =>
  life.takeEvents().map(({ event, data }) => {
    const status = typeof data === "object" && data !== null && "status" in data ? data.status : "";
    return status ? `${event} ${status}` : event;
  });

test("it begins pending, and its first event carries the resource", () => {
  const life = PredictionLife.create(specWith());
  expect(life.state.status).toBe("pending");
  expect(life.waiting).toBe(true);
  expect(life.takeEvents()).toMatchObject([
    { event: "status", data: { status: "pending", prediction: { id: life.spec.id, error: null } } },
  ]);
  expect(life.takeEvents()).toEqual([]);
});

describe("attempts", () => {
  test("count what they store each for itself, and keep the first and every hundredth", () => {
    const life = started();
    const kept = Array.from({ length: 250 }, () => life.countStored(1));
    expect(kept.flatMap((one, n) => (one ? [n + 1] : []))).toEqual([1, 100, 200]);
    life.lose(false, NOW + 3);
    const next = life.openAttempt(SECRET, NOW + 4);
    expect(next?.stored).toBe(0);
  });

  test("are numbered from 1, one at a time", () => {
    const life = pending();
    expect(life.openAttempt(SECRET, NOW)?.number).toBe(1);
    expect(life.openAttempt(SECRET, NOW)).toBeNull();
    expect(life.waiting).toBe(false);
    expect(life.acceptsFrom(1)).toBe(true);
    expect(life.acceptsFrom(2)).toBe(false);
  });

  test("that nobody took are closed without counting as lost", () => {
    const life = offered();
    expect(life.closeAttempt(1, NOW + 5)).toBe(true);
    expect(life.waiting).toBe(true);
    expect(life.state.lost_count).toBe(0);
    expect(life.openAttempt(SECRET, NOW + 6)?.number).toBe(2);
    expect(life.acceptsFrom(1)).toBe(false);
  });

  test("that have begun, or are others, are not closed", () => {
    expect(started().closeAttempt(1, NOW + 5)).toBe(false);
    expect(offered().closeAttempt(2, NOW + 5)).toBe(false);
  });

  test("that were offered when the prediction ended are not closed: terminal states never move", () => {
    const life = offered();
    life.requestCancel(NOW + 2);
    const before = structuredClone(life.state);
    expect(life.closeAttempt(1, NOW + 5)).toBe(false);
    expect(life.state).toEqual(before);
  });

  test("that nobody took do not put off the end of the queue time", () => {
    const life = offered();
    const since = life.state.waiting_since;
    life.closeAttempt(1, NOW + 5_000);
    expect(life.state.waiting_since).toBe(since);
  });

  test("are not opened any more once it has ended", () => {
    expect(ended().openAttempt(SECRET, NOW + 9)).toBeNull();
  });
});

describe("a second attempt", () => {
  function seconded() {
    const life = offered();
    return { life, second: life.openSecond(SECRET, NOW + 1_000) };
  }

  test("is opened once, beside one that was not heard", () => {
    const { life, second } = seconded();
    expect(second?.number).toBe(2);
    expect([life.acceptsFrom(1), life.acceptsFrom(2)]).toEqual([true, true]);
    expect(life.openSecond(SECRET, NOW + 2_000)).toBeNull();
    expect(pending().openSecond(SECRET, NOW)).toBeNull();
    expect(started().openSecond(SECRET, NOW)).toBeNull();
    expect(ended().openSecond(SECRET, NOW)).toBeNull();
  });

  test("is the attempt when it is heard first, and the other is fenced", () => {
    const { life } = seconded();
    expect(life.confirmAttempt(2)).toBe(true);
    expect(dismissed(life)).toEqual([1]);
    expect([life.acceptsFrom(1), life.acceptsFrom(2)]).toEqual([false, true]);
    life.start(NOW + 2_000);
    expect(life.takeEvents()).toEqual([
      { event: "status", data: { status: "started", attempt: 2 } },
    ]);
    expect(life.confirmAttempt(1)).toBe(false);
    expect(life.outputAttempt).toBe(2);
  });

  test("is fenced when the first is heard first, whose output is the one that counts", () => {
    const { life } = seconded();
    expect(life.confirmAttempt(1)).toBe(true);
    expect(dismissed(life)).toEqual([2]);
    expect([life.acceptsFrom(1), life.acceptsFrom(2)]).toEqual([true, false]);
    expect(life.outputAttempt).toBe(1);
    life.start(NOW + 2_000);
    life.lose(false, NOW + 32_000);
    expect(life.openAttempt(SECRET, NOW)?.number).toBe(3);
  });

  test("stays when the other is taken back, and goes with the last", () => {
    for (const [one, other] of [
      [1, 2],
      [2, 1],
    ] as const) {
      const { life } = seconded();
      expect(life.closeAttempt(one, NOW + 5_000)).toBe(true);
      expect([life.acceptsFrom(one), life.acceptsFrom(other), life.waiting]).toEqual([
        false,
        true,
        false,
      ]);
      expect(life.closeAttempt(other, NOW + 6_000)).toBe(true);
      expect(life.waiting).toBe(true);
    }
  });

  test("goes with a cancel", () => {
    const { life } = seconded();
    life.requestCancel(NOW + 2_000);
    expect(life.state).toMatchObject({ status: "canceled", second: null });
    expect(life.acceptsFrom(2)).toBe(false);
  });
});

describe("an attempt that is taken from its runner", () => {
  const ways: [string, (life: PredictionLife) => unknown][] = [
    ["a cancel", (life) => life.requestCancel(NOW + 9)],
    ["a deadline", (life) => life.fail("external", "too late", NOW + 9)],
    ["the end of its lease", (life) => life.lose(false, NOW + 9)],
    ["its third loss", (life) => life.lose(true, NOW + 9)],
    ["giving up on whoever was handed it", (life) => life.expireHandout(NOW + 9)],
  ];

  test.each(ways)(
    "by %s is dismissed when it was not heard: both, when there are two",
    (_, end) => {
      const life = offered();
      life.openSecond(SECRET, NOW + 3);
      end(life);
      expect(dismissed(life)).toEqual([1, 2]);
      expect(lost(life)).toEqual([]);
      expect(life.expectedAttempts.map(({ number }) => number)).toEqual(
        expect.arrayContaining([1, 2]),
      );
    },
  );

  test.each(ways)("by %s is lost when it was heard, and had not begun", (_, end) => {
    const life = offered();
    expect(life.confirmAttempt(1)).toBe(false);
    end(life);
    expect(dismissed(life)).toEqual([]);
    expect(lost(life)).toEqual([1]);
    expect(lost(life)).toEqual([]);
  });

  test("when a cancel is enforced, a deadline ends it or it is lost, is lost", () => {
    const begun: [string, (life: PredictionLife) => void][] = [
      ["enforced", (life) => life.enforceCancel(NOW + 9)],
      ["failed", (life) => life.fail("external", "too late", NOW + 9)],
      ["lost", (life) => life.lose(true, NOW + 9)],
    ];
    for (const [, end] of begun) {
      const life = started();
      life.requestCancel(NOW + 3);
      end(life);
      expect(lost(life)).toEqual([1]);
    }
  });

  test("not when its runner has had the last word", () => {
    const last: ((life: PredictionLife) => void)[] = [
      (life) => life.finish({ status: "succeeded", output: "none" }, NOW + 9),
      (life) => life.finish({ status: "failed", output: "none" }, NOW + 9),
      (life) => life.release(false, NOW + 9),
      (life) => life.release(true, NOW + 9),
    ];
    for (const say of last) {
      const life = started();
      say(life);
      expect([lost(life), dismissed(life)]).toEqual([[], []]);
    }
  });

  test("not when nobody was handed it", () => {
    const life = offered();
    life.openSecond(SECRET, NOW + 3);
    life.closeAttempt(2, NOW + 4);
    life.closeAttempt(1, NOW + 4);
    expect([lost(life), dismissed(life)]).toEqual([[], []]);
  });

  test("is excused when it comes, and missed when it does not, the oldest first", () => {
    const life = offered();
    life.openSecond(SECRET, NOW + 3);
    life.requestCancel(NOW + 4);
    expect(life.resolveDismissed(3)).toBe(false);
    expect(life.expireDismissed()?.number).toBe(1);
    expect(life.resolveDismissed(1)).toBe(false);
    expect(life.resolveDismissed(2)).toBe(true);
    expect(life.expireDismissed()).toBeUndefined();
  });
});

describe("start", () => {
  test("happens once per attempt and says which", () => {
    const life = offered();
    life.start(NOW + 2);
    life.start(NOW + 3);
    expect(life.takeEvents()).toEqual([
      { event: "status", data: { status: "started", attempt: 1 } },
    ]);
    expect(life.state).toMatchObject({ status: "started", updated_at: NOW + 2 });
    expect(life.state.attempt?.started_at).toBe(NOW + 2);
  });

  test("needs an attempt", () => {
    const life = pending();
    life.start(NOW + 2);
    expect(life.state.status).toBe("pending");
    expect(names(life)).toEqual([]);
  });

  test("is followed by ready, which is new only once", () => {
    const life = started();
    expect(life.markReady(NOW + 4)).toBe(true);
    expect(life.markReady(NOW + 5)).toBe(false);
    expect(life.state.attempt?.ready_at).toBe(NOW + 4);
    expect(pending().markReady(NOW)).toBe(false);
  });
});

describe("finish", () => {
  test("succeeds with its times and the kind of output", () => {
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

  test("fails with the runner's error, or says that there was none", () => {
    const life = started();
    const error = { source: "external", message: "boom", detail: { line: 3 } } as const;
    life.finish({ status: "failed", output: "none", error }, NOW + 9);
    expect(life.state.error).toEqual(error);
    expect(names(life)).toEqual(["error", "status failed"]);

    const silent = started();
    silent.finish({ status: "failed", output: "none" }, NOW + 9);
    expect(silent.state.error).toMatchObject({ source: "internal", detail: null });
  });

  test("is canceled only when somebody had asked", () => {
    const asked = started();
    asked.requestCancel(NOW + 3);
    asked.finish({ status: "canceled", output: "none" }, NOW + 4);
    expect(asked.state.status).toBe("canceled");

    const unasked = started();
    unasked.finish({ status: "canceled", output: "none" }, NOW + 4);
    expect(unasked.state).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("of what was to be cancelled is canceled, whatever the model became; its output stays", () => {
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

  test("changes nothing a second time", () => {
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

describe("a lost lease", () => {
  test("before output leads to another attempt, at most three times", () => {
    const life = pending();
    for (let lost = 1; lost <= MAX_LOST_ATTEMPTS; lost++) {
      expect(life.terminal).toBe(false);
      life.openAttempt(SECRET, NOW);
      life.start(NOW);
      life.lose(false, NOW + 30);
      expect(life.state.lost_count).toBe(lost);
    }
    expect(life.state).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("keeps the status: no status moves back", () => {
    const life = started();
    life.lose(false, NOW + 30);
    expect(life.state.status).toBe("started");
    expect(life.waiting).toBe(true);
    expect(life.state.waiting_since).toBe(NOW + 30);
  });

  test("says in the log which attempt was lost", () => {
    const life = started();
    life.lose(false, NOW + 30);
    const data = { status: "started", lost: 1 };
    expect(life.takeEvents()).toEqual([{ event: "status", data }]);
    // What had not begun is nothing to be told of.
    life.openAttempt(SECRET, NOW + 31);
    life.lose(false, NOW + 60);
    expect(life.takeEvents()).toEqual([]);
  });

  test("after output fails it", () => {
    const life = started();
    life.lose(true, NOW + 30);
    expect(life.state).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("of a cancelled prediction ends it as canceled, never run again", () => {
    for (const produced of [true, false]) {
      const life = started();
      life.requestCancel(NOW + 3);
      life.lose(produced, NOW + 30);
      expect(life.state).toMatchObject({ status: "canceled", error: null });
    }
  });

  test("means nothing while nobody has it", () => {
    const life = pending();
    life.lose(false, NOW + 30);
    expect(life.state.lost_count).toBe(0);
  });
});

describe("cancel", () => {
  test("of what no runner has begun is at once", () => {
    for (const life of [pending(), offered()]) {
      expect(life.requestCancel(NOW + 3)).toBe(true);
      expect(life.state).toMatchObject({ status: "canceled", completed_at: NOW + 3 });
      expect(names(life)).toEqual(["status canceled"]);
    }
  });

  test("of what runs is recorded, once, and can be enforced", () => {
    const life = started();
    expect(life.requestCancel(NOW + 3)).toBe(true);
    expect(life.requestCancel(NOW + 4)).toBe(true);
    expect(life.state).toMatchObject({ status: "started", cancel_requested_at: NOW + 3 });
    life.enforceCancel(NOW + 63_000);
    expect(life.state.status).toBe("canceled");
  });

  test("that is recorded is kept to when a deadline ends what runs", () => {
    const life = started();
    life.requestCancel(NOW + 3);
    life.fail("external", "The model did not finish in time.", NOW + 4);
    expect(life.state).toMatchObject({ status: "canceled", error: null });
  });

  test("is not enforced on what nobody cancelled", () => {
    const life = started();
    life.enforceCancel(NOW + 3);
    expect(life.state.status).toBe("started");
  });

  test("between two attempts is at once", () => {
    const life = started();
    life.lose(false, NOW + 30);
    life.requestCancel(NOW + 31);
    expect(life.state.status).toBe("canceled");
  });
});

describe("a hand-back", () => {
  test("waits again without counting", () => {
    const life = started();
    life.release(false, NOW + 4);
    expect(life.waiting).toBe(true);
    expect(life.state.lost_count).toBe(0);
    const data = { status: "started", returned: 1 };
    expect(life.takeEvents()).toEqual([{ event: "status", data }]);
  });

  test("after output fails it: another run would answer twice", () => {
    const life = started();
    life.release(true, NOW + 4);
    expect(life.state).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("again and again fails it", () => {
    const life = pending();
    for (let times = 1; times <= MAX_RELEASES; times++) {
      expect(life.terminal).toBe(false);
      life.openAttempt(SECRET, NOW);
      life.start(NOW);
      life.release(false, NOW);
    }
    expect(life.state).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("of a cancelled prediction ends it", () => {
    const life = started();
    life.requestCancel(NOW + 3);
    life.release(false, NOW + 4);
    expect(life.state.status).toBe("canceled");
  });
});

test("metrics are merged, the later value of a name stands", () => {
  const life = started();
  life.mergeMetrics({ input_tokens: 3, output_tokens: 1 });
  life.mergeMetrics({ output_tokens: 9 });
  expect(life.state.metrics).toEqual({ input_tokens: 3, output_tokens: 9 });
});

test("what a runner says of an error and in metrics is bounded: it must fit a row and a message", () => {
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
