/** The explanation why a prediction does not run, and who sees which names in it. */
import { describe, expect, test } from "vitest";
import {
  explanationOf,
  explanationOfRow,
  isWaiting,
  type PoolAnswer,
  type Viewer,
} from "../../../src/domain/predictions/explanation.ts";
import {
  NO_MOMENTS,
  type RunFacts,
  withSetupEvent,
} from "../../../src/domain/predictions/timeline.ts";
import type { Reason } from "../../../src/domain/scheduling/decide/explain.ts";
import type { NamedExplanation } from "../../../src/domain/scheduling/explanation.ts";
import { explanation } from "../../../src/protocol/explanation.ts";

const T = Date.parse("2026-11-21T12:00:00.000Z");
const NOW = T + 10_000;
const iso = (ms: number) => new Date(ms).toISOString();

const caller: Viewer = {
  isOperator: false,
  sees: ({ model_owner_id }) => model_owner_id === "ada",
};
const operator: Viewer = { isOperator: true, sees: () => true };

const facts = (changes: Partial<RunFacts> = {}): RunFacts => ({
  times: {
    created_at: iso(T),
    updated_at: iso(T),
    status: "pending",
    setup_time: null,
    execution_time: null,
  },
  pool: "l40s",
  hardware: "l40s",
  waiting_since: T,
  handed_at: null,
  moments: NO_MOMENTS,
  setup: null,
  ...changes,
});

const answer = (reason: Reason, changes: Partial<NamedExplanation> = {}): NamedExplanation => ({
  reason,
  range: "unknown",
  runners: [],
  stopped: [],
  ...changes,
});

const explain = (state: RunFacts, said: PoolAnswer, viewer = caller) => {
  const shown = explanationOf(state, said, viewer, NOW);
  expect(explanation.strict().parse(shown)).toEqual(shown);
  return shown;
};
const messageOf = (said: PoolAnswer, viewer = caller, state = facts()) =>
  explain(state, said, viewer).reason?.message;

const ID = "019a0000-0000-7000-8000-000000000001";
const box = { id: ID, name: "box-3", reason: null };

describe("in line", () => {
  test("a prediction in line waits for its turn, with a range", () => {
    const range = { p10_ms: 12_540, p50_ms: 20_000, p90_ms: 41_000 };
    const busy: Reason = { why: "busy", gpus: 1, position: 7, accounts: 3, reserved: [] };
    expect(explain(facts(), answer(busy, { range }))).toEqual({
      status: "pending",
      attempt: 1,
      reason: {
        code: "busy",
        message:
          "All l40s runners are busy. 6 predictions are ahead of it, from 3 other accounts and possibly its own.",
        stopped: [],
        runners: [],
      },
      position: 7,
      accounts_ahead: 3,
      starts_in: { p10_seconds: 12.5, p90_seconds: 41 },
      since: iso(T),
      history: [],
    });
  });

  test.each<[Reason, string, string?]>([
    [
      { why: "no-box", hardware: "l40s" },
      "No l40s runner is accepting work. It starts once one comes online or is resumed.",
    ],
    [
      { why: "too-small", gpus: 4, most: 2 },
      "No l40s runner has 4 working GPUs (largest: 2). Waiting for a larger runner.",
    ],
    [
      { why: "share", held: 1.5, most: 2 },
      "The account has reached its share of l40s while others are waiting: 2 containers. The prediction starts when another run of the account ends, or once no one else has waited for l40s for 5 minutes.",
    ],
    [
      { why: "reserved", box: ID, free_at: NOW + 40_200, free_by: NOW + 600_000 },
      "A runner is reserved for it and is expected to be free in about 40 s.",
      "box-3 is reserved for it and is expected to be free in about 40 s.",
    ],
    [
      { why: "reserved", box: ID, free_at: NOW - 1, free_by: NOW + 600_000 },
      "A runner is reserved for it and should be free by now, but its current work is taking longer than expected.",
      "box-3 is reserved for it and should be free by now, but its current work is taking longer than expected.",
    ],
    [
      { why: "busy", gpus: 4, position: 1, accounts: 0, reserved: [] },
      "No l40s runner has 4 free GPUs. It is next in the queue, and a runner is reserved for it if the wait continues.",
    ],
    [
      { why: "held", box: ID, container: "c", phase: "ready", until: NOW + 1_000 },
      "A container of this model is busy and will be available sooner than a new one.",
      "A container of this model is busy on box-3 and will be available sooner than a new one.",
    ],
    [
      { why: "declined", boxes: [ID] },
      "Every l40s runner has declined it. Auspex offers it again when a runner changes or another one comes online.",
      "Every l40s runner has declined it: box-3 (2 GPUs are lost). Auspex offers it again when a runner changes or another one comes online.",
    ],
    [
      { why: "busy", gpus: 1, position: 1, accounts: 0, reserved: [ID] },
      "All l40s runners are busy or reserved for other predictions. It is next in the queue.",
      "All l40s runners are busy or reserved for other predictions (box-3). It is next in the queue.",
    ],
    [
      { why: "busy", gpus: 1, position: 2, accounts: 0, reserved: [] },
      "All l40s runners are busy. 1 prediction of the same account is ahead of it.",
    ],
  ])(
    "the reason %j is explained to callers and to operators",
    (reason, forCallers, forOperators = forCallers) => {
      const runner = reason.why === "declined" ? { ...box, reason: "2 GPUs are lost" } : box;
      const named = answer(reason, {
        runners: "box" in reason || "boxes" in reason || "reserved" in reason ? [runner] : [],
      });
      expect(messageOf(named)).toBe(forCallers);
      expect(explain(facts(), named).reason?.runners).toEqual([]);
      expect(messageOf(named, operator)).toBe(forOperators);
      expect(explain(facts(), named, operator).reason?.runners).toEqual(named.runners);
    },
  );

  test("a prediction waits whose pool does not know it or does not answer", () => {
    expect(explain(facts(), null).reason).toMatchObject({ code: "queued" });
    expect(explain(facts(), undefined).reason).toMatchObject({ code: "unknown" });
  });

  test("a prediction whose runner was lost waits again", () => {
    const failed = [{ number: 1, reason: "lost" as const, from: T + 1_000, to: T + 6_000 }];
    const shown = explain(
      facts({ moments: { ...NO_MOMENTS, failed }, waiting_since: T + 6_000 }),
      answer({ why: "no-box", hardware: "l40s" }),
    );
    expect(shown).toMatchObject({
      attempt: 2,
      since: iso(T + 6_000),
      history: [{ event: "lost", attempt: 1, at: iso(T + 1_000), seconds: 5 }],
    });
    expect(shown.reason?.message).toMatch(
      /^The runner of attempt 1 was lost\. The prediction was requeued\. No/,
    );
  });
});

describe("with a runner", () => {
  const stopped = [
    { image: "r/a@sha256:aa", model: { name: "ada/story:3", model_id: ID, model_owner_id: "ada" } },
    { image: "r/b@sha256:bb", model: { name: "bob/song:1", model_id: ID, model_owner_id: "bob" } },
    { image: "r/c@sha256:cc", model: null },
  ];
  const starting = answer(
    { why: "starting", box: ID, stopped: ["a", "b", "c"] },
    { stopped, runners: [box] },
  );
  const handed = facts({ handed_at: T + 4_000 });

  test("others' models that make room are named to operators only", () => {
    const shown = explain(handed, starting);
    expect(shown).toMatchObject({ since: iso(T + 4_000), reason: { code: "starting" } });
    expect(shown.reason).toEqual({
      code: "starting",
      message:
        "A container is starting. ada/story:3 and 2 other idle containers were stopped to make room.",
      stopped: ["ada/story:3"],
      runners: [],
    });
    expect(explain(handed, starting, operator).reason).toMatchObject({
      stopped: ["ada/story:3", "bob/song:1", "r/c@sha256:cc"],
      runners: [box],
    });
  });

  test("a pull of the image has a rate", () => {
    const pulling = (progress: number, message: string, at: number) =>
      [{ event: "setup", data: { phase: "pulling", progress, message } }, at] as const;
    const events = [pulling(0.2, "200 of 1000 MB", T + 5_000), pulling(0.4, "400 of 1000 MB", NOW)];
    const setup = events.reduce<RunFacts["setup"]>(
      (before, [event, at]) => withSetupEvent(before, event, at),
      null,
    );
    const moments = {
      ...NO_MOMENTS,
      started: T + 4_000,
      phases: [{ phase: "pulling" as const, at: T + 5_000 }],
    };
    const shown = explain({ ...handed, setup, moments }, starting);
    expect(shown.reason).toMatchObject({
      code: "pulling",
      message:
        "Pulling the image, 40%: 400 of 1000 MB, about 15 s left at this rate. ada/story:3 and 2 other idle containers were stopped to make room.",
    });
    expect(shown.history).toEqual([{ event: "waited", attempt: 1, at: iso(T), seconds: 4 }]);
  });

  test("a new phase has no rate yet, and a new attempt begins without one", () => {
    const pull = { event: "setup", data: { phase: "pulling", progress: 0.5 } } as const;
    const start = { event: "setup", data: { phase: "starting" } } as const;
    const pulled = withSetupEvent(null, pull, T);
    expect(withSetupEvent(pulled, start, NOW)).toEqual({
      progress: start.data,
      at: NOW,
      first: null,
    });
    const lost = { event: "status", data: { status: "pending", lost: 1 } } as const;
    expect(withSetupEvent(pulled, lost, NOW)).toBeNull();
  });

  test("a pool that still lists a prediction as waiting is behind", () => {
    const moments = { ...NO_MOMENTS, started: T + 4_000 };
    const busy = answer({ why: "busy", gpus: 1, position: 3, accounts: 1, reserved: [] });
    expect(explain({ ...handed, moments }, busy)).toMatchObject({
      reason: { code: "handed_over" },
      position: null,
      accounts_ahead: null,
    });
  });
});

test("a running prediction has no reason, and an ended one has only its times", () => {
  const moments = {
    ...NO_MOMENTS,
    started: T + 2_000,
    phases: [
      { phase: "pulling" as const, at: T + 2_000 },
      { phase: "starting" as const, at: T + 5_000 },
    ],
    ready: T + 6_000,
  };
  const running = facts({ moments });
  expect(isWaiting(running)).toBe(false);
  expect(explain(running, null)).toMatchObject({ reason: null, since: null });
  const times = {
    ...running.times,
    status: "succeeded" as const,
    updated_at: iso(NOW),
    setup_time: "4.000",
    execution_time: "4.000",
  };
  expect(explain(facts({ times, moments: { ...moments, ended: NOW } }), null)).toMatchObject({
    attempt: 1,
    reason: null,
    history: [
      { event: "waited", at: iso(T), seconds: 2 },
      { event: "pulled", at: iso(T + 2_000), seconds: 3 },
      { event: "started", at: iso(T + 5_000), seconds: 1 },
      { event: "ran", at: iso(T + 6_000), seconds: 4 },
    ],
  });
  // `explanationOfRow` has only the row, because the log is removed.
  expect(explanationOfRow(times).history).toEqual([
    { event: "waited", attempt: 1, at: iso(T), seconds: 2 },
    { event: "set_up", attempt: 1, at: iso(T + 2_000), seconds: 4 },
    { event: "ran", attempt: 1, at: iso(T + 6_000), seconds: 4 },
  ]);
});
