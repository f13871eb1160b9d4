/** Attempts that end without a result: taken from their runner, lost with its lease, handed back. */
import { describe, expect, test } from "vitest";
import {
  MAX_FAILED_STARTS,
  MAX_LOST_ATTEMPTS,
  MAX_RELEASES,
  type PredictionLife,
} from "../../../src/domain/predictions/life.ts";
import { dismissed, offered, pending, started } from "./life-samples.ts";
import { NOW, SECRET } from "./samples.ts";

const lost = (life: PredictionLife) => life.takeLostAttempts().map(({ number }) => number);

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

describe("a start that the machine of a runner failed", () => {
  const FULL = "the disk of the runner's machine is full";

  test("waits again, counts neither as lost nor as handed back, and keeps where it was", () => {
    const life = started();
    life.setRunner(1, "a");
    life.failStart(false, FULL, NOW + 4);
    expect(life.waiting).toBe(true);
    expect(life.state).toMatchObject({ lost_count: 0, release_count: 0, failed_on: ["a"] });
    const data = { status: "started", returned: 1 };
    expect(life.takeEvents()).toEqual([{ event: "status", data }]);
  });

  test("fails it in the end: what fails on every machine does not go round for ever", () => {
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

  test("fails it after output, and ends one that is canceled", () => {
    const produced = started();
    produced.failStart(true, FULL, NOW + 4);
    expect(produced.state).toMatchObject({ status: "failed", error: { message: FULL } });
    const canceled = started();
    canceled.requestCancel(NOW + 3);
    canceled.failStart(false, FULL, NOW + 4);
    expect(canceled.state.status).toBe("canceled");
  });
});
