/** Attempts of a prediction: numbered, one at a time, and a second beside one that is not heard. */
import { describe, expect, test } from "vitest";
import {
  MAX_FAILED_STARTS,
  MAX_LOST_ATTEMPTS,
  MAX_RELEASES,
} from "../../../src/domain/predictions/failures.ts";
import type { PredictionLife } from "../../../src/domain/predictions/life.ts";
import { dismissed, ended, offered, pending, started } from "./life-samples.ts";
import { NOW, SECRET } from "./samples.ts";

describe("attempts", () => {
  test("attempts count the rows that they store each, and the first and every hundredth is kept", () => {
    const life = started();
    const kept = Array.from({ length: 250 }, () => life.countStored(1));
    expect(kept.flatMap((one, n) => (one ? [n + 1] : []))).toEqual([1, 100, 200]);
    life.lose(false, NOW + 3);
    const next = life.openAttempt(SECRET, NOW + 4);
    expect(next?.stored).toBe(0);
  });

  test("attempts are numbered from 1, and one is open at a time", () => {
    const life = pending();
    expect(life.openAttempt(SECRET, NOW)?.number).toBe(1);
    expect(life.openAttempt(SECRET, NOW)).toBeNull();
    expect(life.waiting).toBe(false);
    expect(life.acceptsFrom(1)).toBe(true);
    expect(life.acceptsFrom(2)).toBe(false);
  });

  test("an attempt that no runner took is closed without counting as lost", () => {
    const life = offered();
    expect(life.closeAttempt(1, NOW + 5)).toBe(true);
    expect(life.waiting).toBe(true);
    expect(life.state.lost_count).toBe(0);
    expect(life.openAttempt(SECRET, NOW + 6)?.number).toBe(2);
    expect(life.acceptsFrom(1)).toBe(false);
  });

  test("an attempt that has begun, or is another one, is not closed", () => {
    expect(started().closeAttempt(1, NOW + 5)).toBe(false);
    expect(offered().closeAttempt(2, NOW + 5)).toBe(false);
  });

  test("an attempt that was offered when the prediction ended is not closed, as terminal states never move", () => {
    const life = offered();
    life.requestCancel(NOW + 2);
    const before = structuredClone(life.state);
    expect(life.closeAttempt(1, NOW + 5)).toBe(false);
    expect(life.state).toEqual(before);
  });

  test("an attempt that no runner took does not put off the end of the queue time", () => {
    const life = offered();
    const since = life.state.waiting_since;
    life.closeAttempt(1, NOW + 5_000);
    expect(life.state.waiting_since).toBe(since);
  });

  test("no attempt is opened once the prediction has ended", () => {
    expect(ended().openAttempt(SECRET, NOW + 9)).toBeNull();
  });
});

describe("a second attempt", () => {
  function seconded() {
    const life = offered();
    return { life, second: life.openSecond(SECRET, NOW + 1_000) };
  }

  test("a second attempt is opened once, beside one that was not heard", () => {
    const { life, second } = seconded();
    expect(second?.number).toBe(2);
    expect([life.acceptsFrom(1), life.acceptsFrom(2)]).toEqual([true, true]);
    expect(life.openSecond(SECRET, NOW + 2_000)).toBeNull();
    expect(pending().openSecond(SECRET, NOW)).toBeNull();
    expect(started().openSecond(SECRET, NOW)).toBeNull();
    expect(ended().openSecond(SECRET, NOW)).toBeNull();
  });

  test("a second attempt is the current one when it is heard first, and the other is fenced", () => {
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

  test("a second attempt is fenced when the first is heard first, whose output counts", () => {
    const { life } = seconded();
    expect(life.confirmAttempt(1)).toBe(true);
    expect(dismissed(life)).toEqual([2]);
    expect([life.acceptsFrom(1), life.acceptsFrom(2)]).toEqual([true, false]);
    expect(life.outputAttempt).toBe(1);
    life.start(NOW + 2_000);
    life.lose(false, NOW + 32_000);
    expect(life.openAttempt(SECRET, NOW)?.number).toBe(3);
  });

  test("a second attempt stays when the other is taken back, and ends with the last", () => {
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

  test("a second attempt ends with a cancel", () => {
    const { life } = seconded();
    life.requestCancel(NOW + 2_000);
    expect(life.state).toMatchObject({ status: "canceled", second: null });
    expect(life.acceptsFrom(2)).toBe(false);
  });
});

const lost = (life: PredictionLife) => life.attempts.takeLost().map(({ number }) => number);

describe("an attempt that is taken from its runner", () => {
  const ways: [string, (life: PredictionLife) => unknown][] = [
    ["a cancel", (life) => life.requestCancel(NOW + 9)],
    ["a deadline", (life) => life.fail("external", "too late", NOW + 9)],
    ["the end of its lease", (life) => life.lose(false, NOW + 9)],
    ["its third loss", (life) => life.lose(true, NOW + 9)],
    ["giving up on whoever was handed it", (life) => life.expireHandout(NOW + 9)],
  ];

  test.each(ways)(
    "an attempt that is ended by %s is dismissed when it was not heard; both are, when there are two",
    (_, end) => {
      const life = offered();
      life.openSecond(SECRET, NOW + 3);
      end(life);
      expect(dismissed(life)).toEqual([1, 2]);
      expect(lost(life)).toEqual([]);
      expect(life.attempts.expected.map(({ number }) => number)).toEqual(
        expect.arrayContaining([1, 2]),
      );
    },
  );

  test.each(ways)(
    "an attempt that is ended by %s is lost when it was heard and had not begun",
    (_, end) => {
      const life = offered();
      expect(life.confirmAttempt(1)).toBe(false);
      end(life);
      expect(dismissed(life)).toEqual([]);
      expect(lost(life)).toEqual([1]);
      expect(lost(life)).toEqual([]);
    },
  );

  test("an attempt is lost when a cancel is enforced, a deadline ends it or its runner is lost", () => {
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

  test("an attempt is not lost when its runner has reported its end", () => {
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

  test("an attempt that no runner was handed is neither lost nor dismissed", () => {
    const life = offered();
    life.openSecond(SECRET, NOW + 3);
    life.closeAttempt(2, NOW + 4);
    life.closeAttempt(1, NOW + 4);
    expect([lost(life), dismissed(life)]).toEqual([[], []]);
  });

  test("a dismissed attempt is resolved when its runner comes, and expires otherwise, the oldest first", () => {
    const life = offered();
    life.openSecond(SECRET, NOW + 3);
    life.requestCancel(NOW + 4);
    expect(life.attempts.resolveDismissed(3)).toBe(false);
    expect(life.attempts.expireDismissed()?.number).toBe(1);
    expect(life.attempts.resolveDismissed(1)).toBe(false);
    expect(life.attempts.resolveDismissed(2)).toBe(true);
    expect(life.attempts.expireDismissed()).toBeUndefined();
  });
});

describe("a lost lease", () => {
  test("a lost lease before output leads to another attempt, at most three times", () => {
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

  test("a lost lease keeps the status, because no status moves back", () => {
    const life = started();
    life.lose(false, NOW + 30);
    expect(life.state.status).toBe("started");
    expect(life.waiting).toBe(true);
    expect(life.state.waiting_since).toBe(NOW + 30);
  });

  test("a lost lease is logged with its attempt", () => {
    const life = started();
    life.lose(false, NOW + 30);
    const data = { status: "started", lost: 1 };
    expect(life.takeEvents()).toEqual([{ event: "status", data }]);
    // An attempt that has not begun is lost without a log event.
    life.openAttempt(SECRET, NOW + 31);
    life.lose(false, NOW + 60);
    expect(life.takeEvents()).toEqual([]);
  });

  test("a lost lease after output fails the prediction", () => {
    const life = started();
    life.lose(true, NOW + 30);
    expect(life.state).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("a lost lease of a cancelled prediction ends it as canceled, and it never runs again", () => {
    for (const produced of [true, false]) {
      const life = started();
      life.requestCancel(NOW + 3);
      life.lose(produced, NOW + 30);
      expect(life.state).toMatchObject({ status: "canceled", error: null });
    }
  });

  test("a lost lease changes nothing while no runner has the prediction", () => {
    const life = pending();
    life.lose(false, NOW + 30);
    expect(life.state.lost_count).toBe(0);
  });
});

describe("a hand-back", () => {
  test("a handed-back prediction waits again without counting as lost", () => {
    const life = started();
    life.release(false, NOW + 4);
    expect(life.waiting).toBe(true);
    expect(life.state.lost_count).toBe(0);
    const data = { status: "started", returned: 1 };
    expect(life.takeEvents()).toEqual([{ event: "status", data }]);
  });

  test("a hand-back after output fails the prediction, because another run would answer twice", () => {
    const life = started();
    life.release(true, NOW + 4);
    expect(life.state).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("a prediction that is handed back again and again fails", () => {
    const life = pending();
    for (let times = 1; times <= MAX_RELEASES; times++) {
      expect(life.terminal).toBe(false);
      life.openAttempt(SECRET, NOW);
      life.start(NOW);
      life.release(false, NOW);
    }
    expect(life.state).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("a hand-back of a cancelled prediction ends it", () => {
    const life = started();
    life.requestCancel(NOW + 3);
    life.release(false, NOW + 4);
    expect(life.state.status).toBe("canceled");
  });
});

describe("a start that the machine of a runner failed", () => {
  const FULL = "the disk of the runner's machine is full";

  test("a failed start waits again, counts neither as lost nor as handed back, and keeps its place", () => {
    const life = started();
    life.attempts.setRunner(1, "a");
    life.failStart(false, FULL, NOW + 4);
    expect(life.waiting).toBe(true);
    expect(life.state).toMatchObject({ lost_count: 0, release_count: 0, failed_on: ["a"] });
    const data = { status: "started", returned: 1 };
    expect(life.takeEvents()).toEqual([{ event: "status", data }]);
  });

  test("a prediction fails after ten failed starts, so that it does not go from machine to machine endlessly", () => {
    const life = pending();
    for (let times = 1; times <= MAX_FAILED_STARTS; times++) {
      expect(life.terminal).toBe(false);
      life.openAttempt(SECRET, NOW);
      life.start(NOW);
      life.failStart(false, FULL, NOW);
    }
    expect(life.state).toMatchObject({
      status: "failed",
      error: { source: "internal", message: expect.stringContaining(FULL) },
    });
  });

  test("a failed start after output fails the prediction, and one of a canceled prediction ends it", () => {
    const produced = started();
    produced.failStart(true, FULL, NOW + 4);
    expect(produced.state).toMatchObject({ status: "failed", error: { message: FULL } });
    const canceled = started();
    canceled.requestCancel(NOW + 3);
    canceled.failStart(false, FULL, NOW + 4);
    expect(canceled.state.status).toBe("canceled");
  });
});
