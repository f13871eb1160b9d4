import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Deadline,
  deadlines as deadlinesOf,
  earliest,
  seenBeforeRestart,
} from "../../../src/domain/predictions/deadlines.ts";
import { PredictionLife } from "../../../src/domain/predictions/life.ts";
import type { PredictionSpec } from "../../../src/domain/predictions/state.ts";
import { NOW, SECRET, specWith } from "./samples.ts";

const PATIENCE = {
  lease_seconds: 30,
  connect_seconds: 5,
  cancel_seconds: 60,
  redispatch_seconds: 30,
};

const deadlines = (of: PredictionLife, lastSeenAt: number | null) =>
  deadlinesOf(
    of,
    lastSeenAt === null ? null : { last_seen_at: lastSeenAt, token_known_at: lastSeenAt },
    PATIENCE,
  );

const at = (all: Deadline[]) => Object.fromEntries(all.map((d) => [d.kind, (d.at - NOW) / 1000]));

const life = (changes?: Partial<PredictionSpec>) => PredictionLife.create(specWith(changes));

function running(changes?: Partial<PredictionSpec>) {
  const started = life(changes);
  started.openAttempt(SECRET, NOW);
  started.start(NOW + 1_000);
  return started;
}

test("the lease of a restarted object goes on from the last frame, or for 10 s", () => {
  const ends = (saidAt: number) =>
    (seenBeforeRestart(NOW + saidAt * 1_000, NOW, PATIENCE) - NOW) / 1_000 + 30;
  expect([0, -5, -19, -20, -21, -500].map(ends)).toEqual([30, 25, 11, 10, 10, 10]);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100_000 }), (ago) => {
      const until = seenBeforeRestart(NOW - ago, NOW, PATIENCE) + 30_000;
      return until >= NOW + 10_000 && until <= Math.max(NOW - ago + 30_000, NOW + 10_000);
    }),
  );
  // A lease that is shorter than 10 s is not made longer.
  expect(seenBeforeRestart(0, NOW, { ...PATIENCE, lease_seconds: 2 })).toBe(NOW);
});

test("a restarted object waits 10 s for the caller that its restart has cut off", () => {
  const lost = running({ cancel_on_disconnect: true });
  expect(at(deadlines(lost, NOW))).not.toHaveProperty("caller");
  lost.loseCaller(NOW);
  // The object restarted once more before the caller was back.
  lost.loseCaller(NOW + 5_000);
  expect(at(deadlines(lost, NOW))).toMatchObject({ caller: 10 });
  lost.callerFollows();
  expect(at(deadlines(lost, NOW))).not.toHaveProperty("caller");
  const other = running();
  other.loseCaller(NOW);
  expect(at(deadlines(other, NOW))).not.toHaveProperty("caller");
});

describe("while it waits", () => {
  test("a waiting prediction has deadlines for its queue time and its next dispatch", () => {
    const waiting = life();
    waiting.recordDispatch(NOW);
    expect(at(deadlines(waiting, null))).toEqual({ queue: 3_600, redispatch: 30 });
  });

  test("each dispatch is sent again later than the one before, at most after ten minutes", () => {
    const waiting = life();
    const delays = Array.from({ length: 7 }, () => {
      waiting.recordDispatch(NOW);
      return at(deadlines(waiting, null)).redispatch;
    });
    expect(delays).toEqual([30, 60, 120, 240, 480, 600, 600]);
  });

  test("a waiting prediction ends after the wait that its creator allowed, until a cancel is recorded", () => {
    const waiting = life({ cancel_at: NOW + 7_000 });
    expect(at(deadlines(waiting, null)).wait).toBe(7);
    const asked = running({ cancel_at: NOW + 7_000 });
    expect(at(deadlines(asked, null)).wait).toBe(7);
    asked.requestCancel(NOW + 7_000);
    expect(at(deadlines(asked, null))).not.toHaveProperty("wait");
  });
});

describe("while a runner has it", () => {
  test("a runner has 5 s to connect; after 1 s a second runner is looked for, again each second until one has room", () => {
    const offered = life();
    offered.openAttempt(SECRET, NOW + 2_000);
    expect(at(deadlines(offered, null))).toEqual({ connect: 7, second: 3 });
    offered.openSecond(SECRET, NOW + 3_000);
    expect(at(deadlines(offered, null))).toEqual({ connect: 8 });
    offered.closeAttempt(2, NOW + 3_500);
    expect(at(deadlines(offered, null))).toEqual({ connect: 7, second: 4.5 });
  });

  test("an attempt that is connected and not heard has deadlines for its lease and setup, none to connect", () => {
    const offered = life();
    offered.openAttempt(SECRET, NOW);
    expect(at(deadlines(offered, NOW + 3_000))).toEqual({ lease: 33, token: 13, setup: 600 });
  });

  test("the lease follows the last sign of life on the channel, or on the broken one", () => {
    const started = running();
    expect(at(deadlines(started, null)).lease).toBe(31);
    expect(at(deadlines(started, NOW + 20_000)).lease).toBe(50);
    started.attempts.channelClosed(NOW + 40_000);
    expect(at(deadlines(started, NOW + 20_000)).lease).toBe(70);
  });

  test("an open channel is checked 10 s after its token was last found valid, a closed one is not", () => {
    const started = running();
    const channel = { last_seen_at: NOW + 9_000, token_known_at: NOW + 4_000 };
    expect(at(deadlinesOf(started, channel, PATIENCE)).token).toBe(14);
    expect(at(deadlinesOf(started, null, PATIENCE))).not.toHaveProperty("token");
  });

  test("the setup deadline holds until the container is ready, the run deadline from then", () => {
    const started = running();
    expect(at(deadlines(started, NOW))).toMatchObject({ setup: 601 });
    started.attempts.markReady(NOW + 100_000);
    const found = at(deadlines(started, NOW));
    expect(found).toMatchObject({ run: 1_900 });
    expect(found).not.toHaveProperty("setup");
  });

  test("a cancel is enforced after 60 s", () => {
    const started = running();
    started.requestCancel(NOW + 10_000);
    expect(at(deadlines(started, NOW)).cancel).toBe(70);
  });
});

test("a prediction that has ended has only its retention as a deadline", () => {
  const ended = running();
  ended.finish({ status: "succeeded", output: "none" }, NOW + 5_000);
  expect(at(deadlines(ended, NOW))).toEqual({ retention: 86_405 });
});

describe("of an attempt that was dismissed", () => {
  function outrun() {
    const offered = life();
    offered.openAttempt(SECRET, NOW);
    offered.openSecond(SECRET, NOW + 1_000);
    offered.confirmAttempt(2);
    return offered;
  }

  test("a dismissed attempt keeps its time to connect, also when the prediction has ended", () => {
    const offered = outrun();
    expect(at(deadlines(offered, NOW + 2_000))).toMatchObject({ missed: 5 });
    offered.start(NOW + 2_000);
    offered.finish({ status: "succeeded", output: "none" }, NOW + 3_000);
    expect(at(deadlines(offered, null))).toEqual({ missed: 5, retention: 86_403 });
  });

  test("no dismissed attempt is forgotten before it has come or was missed", () => {
    const [coming, missed] = [outrun(), outrun()];
    for (const one of [coming, missed]) {
      one.requestCancel(NOW + 2_000);
      one.removeData(NOW + 3_000);
      expect(at(deadlines(one, null))).toEqual({ missed: 5 });
    }
    coming.attempts.resolveDismissed(1);
    missed.attempts.expireDismissed();
    for (const one of [coming, missed]) expect(at(deadlines(one, null))).toEqual({ forget: 3 });
  });
});

test("the earliest deadline is the alarm", () => {
  expect(
    earliest([
      { kind: "queue", at: 9 },
      { kind: "redispatch", at: 3 },
    ]),
  ).toBe(3);
});
