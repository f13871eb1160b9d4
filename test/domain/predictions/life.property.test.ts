/** Invariants of a prediction's life under any calls in any order. */
import fc from "fast-check";
import { test } from "vitest";
import { MAX_LOST_ATTEMPTS } from "../../../src/domain/predictions/failures.ts";
import { PredictionLife } from "../../../src/domain/predictions/life.ts";
import type { PredictionState } from "../../../src/domain/predictions/state.ts";
import { isTerminal } from "../../../src/domain/predictions/status.ts";
import type { Finish } from "../../../src/protocol/channel.ts";
import type { TaskStatus } from "../../../src/protocol/prediction.ts";
import { sized } from "../../support/sized.ts";
import { NOW, SECRET, specWith } from "./samples.ts";

const RANK: Record<TaskStatus, number> = {
  pending: 0,
  started: 1,
  succeeded: 2,
  failed: 2,
  canceled: 2,
};

/** The calls that the model of the test has seen so far. */
interface Seen {
  now: number;
  status: TaskStatus;
  /** A cancel was accepted. */
  canceled: boolean;
  terminalEvents: number;
  /** The state as it ended. */
  end: PredictionState | undefined;
  attempts: number;
  /** The last attempt that was heard. */
  owner: number;
  /** How many times it has fallen back, and whether output was visible before. */
  fallbacks: number;
  spoke: boolean;
  /** The outcome of each dismissed attempt, by its number. */
  settled: Map<number, string>;
}

type Act = (life: PredictionLife, now: number, settle: (n: number, how: string) => void) => void;

class Step implements fc.Command<Seen, PredictionLife> {
  readonly #name: string;
  readonly #act: Act;

  constructor(name: string, act: Act) {
    this.#name = name;
    this.#act = act;
  }

  check = () => true;
  toString = () => this.#name;

  run(seen: Seen, life: PredictionLife): void {
    seen.now += 1_000;
    const settle = (number: number, how: string) => {
      if (seen.settled.has(number)) throw new Error(`${number} is ${how} after all`);
      seen.settled.set(number, how);
    };
    this.#act(life, seen.now, settle);
    const { state } = life;
    for (const { number } of life.attempts.takeLost()) settle(number, "lost");
    for (const number of range(1, state.attempt_count)) {
      const dismissed = state.dismissed.some((one) => one.number === number);
      const places = [life.acceptsFrom(number), dismissed, seen.settled.has(number)];
      if (places.filter(Boolean).length !== 1)
        throw new Error(`what became of ${number} is not one thing`);
    }
    for (const { event, data } of life.takeEvents()) {
      if (event !== "status") continue;
      if (RANK[state.status] < RANK[seen.status]) throw new Error("the status moved back");
      if (isTerminal(taskStatusOf(data.status))) seen.terminalEvents += 1;
    }
    if (RANK[state.status] < RANK[seen.status]) throw new Error("the status moved back");
    seen.status = state.status;
    if (seen.terminalEvents !== (life.terminal ? 1 : 0)) throw new Error("not one terminal event");
    // `dismissed` still changes after the end.
    const kept = { ...state, dismissed: [] };
    if (seen.end && JSON.stringify(seen.end) !== JSON.stringify(kept))
      throw new Error("a terminal state moved");
    seen.canceled ||= state.cancel_requested_at !== null;
    if (life.terminal && seen.canceled && state.status !== "canceled")
      throw new Error("a cancel was accepted, and it ended otherwise");
    if (life.terminal) seen.end ??= structuredClone(kept);
    if (state.fallbacks_used > seen.fallbacks && (seen.spoke || seen.canceled))
      throw new Error("it fell back after output or a cancel");
    if (state.fallbacks_used < seen.fallbacks || state.fallbacks_used > FALLBACKS)
      throw new Error("fallbacks are used once each");
    if (life.spec.model.version_number !== 1 + state.fallbacks_used)
      throw new Error("another version answers than the one whose turn it is");
    seen.fallbacks = state.fallbacks_used;
    seen.spoke = state.first_output_at !== null;
    if (state.lost_count > MAX_LOST_ATTEMPTS)
      throw new Error("more attempts lost than there may be");
    if (state.attempt_count < seen.attempts) throw new Error("the number of attempts fell");
    seen.attempts = state.attempt_count;
    const owners = range(0, state.attempt_count + 1).filter((number) => life.acceptsFrom(number));
    // Two attempts may be open as long as neither was heard.
    const heard = state.attempt !== null && state.attempt.started_at !== null;
    if (owners.length > (heard ? 1 : 2)) throw new Error("too many attempts own it");
    if (owners.length === 2 && state.second === null)
      throw new Error("two own it without a second");
    if (life.terminal && owners.length > 0) throw new Error("somebody owns what has ended");
    if (owners[0] !== undefined && owners[0] < seen.owner)
      throw new Error("an old attempt owns it");
    if (heard && owners[0] !== undefined) {
      // A runner that was heard once keeps the prediction until it is lost, hands it back or ends it.
      if (owners[0] !== life.outputAttempt) throw new Error("the output of another counts");
      seen.owner = owners[0];
    }
    if (life.waiting !== (!life.terminal && owners.length === 0))
      throw new Error("waits while somebody has it");
    if ((state.error !== null) !== (state.status === "failed"))
      throw new Error("an error and no failure, or the reverse");
    if ((state.completed_at !== null) !== life.terminal)
      throw new Error("completed_at does not fit");
  }
}

const FALLBACKS = 2;

/** A prediction with fallbacks, whose versions have the numbers 1, 2 and 3. */
function withFallbacks(): PredictionLife {
  const spec = specWith();
  const fallbacks = range(2, 1 + FALLBACKS).map((version_number) => ({
    after_seconds: null,
    spec: { ...spec, model: { ...spec.model, version_number } },
  }));
  return PredictionLife.create({ ...spec, fallbacks });
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

function taskStatusOf(text: string): TaskStatus {
  if (text in RANK) return text as TaskStatus;
  throw new Error(`no status: ${text}`);
}

/** Wraps a call that only the owner may make: the object checks this before it accepts a runner's message. */
const spoken =
  (number: number, act: (life: PredictionLife, now: number) => void, last = false): Act =>
  (life, now, settle) => {
    if (!life.acceptsFrom(number)) return;
    life.confirmAttempt(number);
    act(life, now);
    if (last) settle(number, "over by its own word");
  };

const attempt = fc.integer({ min: 1, max: 6 });
const result = fc.record<Finish>({
  status: fc.constantFrom("succeeded", "failed", "canceled"),
  output: fc.constantFrom("none", "items", "value"),
});

const steps = [
  fc.constant(new Step("second", (life, now) => void life.openSecond(SECRET, now))),
  fc.constant(new Step("open", (life, now) => void life.openAttempt(SECRET, now))),
  attempt.map(
    (n) =>
      new Step(`close ${n}`, (life, now, settle) => {
        if (life.closeAttempt(n, now)) settle(n, "taken back");
      }),
  ),
  attempt.map(
    (n) =>
      new Step(`come ${n}`, (life, _, settle) => {
        if (life.attempts.resolveDismissed(n)) settle(n, "excused");
      }),
  ),
  fc.constant(
    new Step("miss", (life, _, settle) => {
      const missed = life.attempts.expireDismissed();
      if (missed) settle(missed.number, "missed");
    }),
  ),
  fc.constant(new Step("give up", (life, now) => life.expireHandout(now))),
  attempt.map(
    (n) =>
      new Step(
        `start ${n}`,
        spoken(n, (life, now) => life.start(now)),
      ),
  ),
  attempt.map(
    (n) =>
      new Step(
        `ready ${n}`,
        spoken(n, (life, now) => void life.attempts.markReady(now)),
      ),
  ),
  fc.tuple(attempt, fc.boolean()).map(
    ([n, produced]) =>
      new Step(
        `release ${n} ${produced}`,
        spoken(n, (life, now) => life.release(produced, now), true),
      ),
  ),
  fc.tuple(attempt, result).map(
    ([n, finish]) =>
      new Step(
        `finish ${n} ${finish.status}`,
        spoken(n, (life, now) => life.finish(finish, now), true),
      ),
  ),
  fc
    .boolean()
    .map((produced) => new Step(`lose ${produced}`, (life, now) => life.lose(produced, now))),
  attempt.map(
    (n) =>
      new Step(
        `output ${n}`,
        spoken(n, (life, now) => void life.noteOutput(now)),
      ),
  ),
  fc.constant(new Step("fall back", (life, now) => void life.fallBack("late", now))),
  fc.constant(new Step("cancel", (life, now) => void life.requestCancel(now))),
  fc.constant(new Step("enforce", (life, now) => life.enforceCancel(now))),
  fc.constant(new Step("fail", (life, now) => life.fail("internal", "deadline", now))),
];

test("a prediction has one owner, one end and no way back under calls in any order", () => {
  fc.assert(
    fc.property(fc.commands(steps, { maxCommands: 40 }), fc.boolean(), (commands, falls) => {
      fc.modelRun(() => {
        const life = falls ? withFallbacks() : PredictionLife.create(specWith());
        life.takeEvents();
        const model: Seen = {
          now: NOW,
          status: "pending",
          canceled: false,
          terminalEvents: 0,
          end: undefined,
          attempts: 0,
          owner: 0,
          fallbacks: 0,
          spoke: false,
          settled: new Map(),
        };
        return { model, real: life };
      }, commands);
    }),
    { numRuns: sized(200, 500) },
  );
});

test("a prediction ends with a call of its owner under calls in any order", () => {
  fc.assert(
    fc.property(fc.commands(steps, { maxCommands: 20 }), fc.boolean(), (commands, cancel) => {
      const life = PredictionLife.create(specWith());
      fc.modelRun(() => {
        life.takeEvents();
        const model: Seen = {
          now: NOW,
          status: "pending",
          canceled: false,
          terminalEvents: 0,
          end: undefined,
          attempts: 0,
          owner: 0,
          fallbacks: 0,
          spoke: false,
          settled: new Map(),
        };
        return { model, real: life };
      }, commands);
      if (cancel) life.requestCancel(NOW + 99_000);
      if (!life.terminal && life.waiting) life.openAttempt(SECRET, NOW + 100_000);
      life.start(NOW + 101_000);
      life.finish({ status: "succeeded", output: "none" }, NOW + 102_000);
      return life.terminal;
    }),
  );
});
