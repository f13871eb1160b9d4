/** Attempts of a prediction: numbered, one at a time, and a second beside one that is not heard. */
import { describe, expect, test } from "vitest";
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
