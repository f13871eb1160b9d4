/** Invariants of an outbox, whatever receivers answer and whenever the service dies. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Outcome } from "../../../src/domain/webhooks/delivery.ts";
import { type BegunTry, Outbox, type OutboxEvent } from "../../../src/domain/webhooks/outbox.ts";
import { sized } from "../../support/sized.ts";
import { all, happening, outputOnly, own, rules } from "./outbox-samples.ts";

const destinations = [own, all, outputOnly];

const outcome: fc.Arbitrary<Outcome> = fc.constantFrom<Outcome>(
  { status: 200, error: null },
  { status: 500, error: "responded with status 500" },
  { status: null, error: "the connection was reset" },
  { status: 429, error: "responded with status 429", retryAfterMs: 60_000 },
  { status: 410, error: "responded with status 410", final: true },
);

type Step =
  | { do: "output" | "die" | "wait" }
  | { do: "settle"; outcome: Outcome; chance: number }
  | { do: "redeliver"; which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Step>({ do: "output" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "die" }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: "wait" }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant<"settle">("settle"),
      outcome,
      chance: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant<"redeliver">("redeliver"), which: fc.nat(20) }),
  },
);

/** An outbox like in the prediction object: changes that are not written are lost when it dies. */
class Life {
  outbox = new Outbox(destinations);
  now = 0;
  readonly #rows = new Map<number, string>();
  #underWay: BegunTry[] = [];
  #log = 2;
  #outputs = 0;

  constructor() {
    this.outbox.plan(happening("started", 2, 0));
    this.#save();
  }

  take(step: Step): void {
    this.now += 700;
    switch (step.do) {
      case "output":
        this.#log += 3;
        this.#outputs += 1;
        break;
      case "die":
        this.#underWay = [];
        this.outbox = new Outbox(destinations, this.#stored());
        break;
      case "wait":
        this.now += 20_000;
        break;
      case "settle": {
        const [begun] = this.#underWay.splice(0, 1);
        if (begun) this.outbox.settle(begun, step.outcome, this.now, step.chance, rules);
        break;
      }
      case "redeliver": {
        const event = this.outbox.events[step.which % this.outbox.events.length];
        if (event) this.outbox.redeliver(event.sequence, this.now);
      }
    }
    this.alarm();
  }

  alarm(ended = false): void {
    if (!ended && this.outbox.outputAt(this.#outputs) <= this.now) {
      this.outbox.plan(happening("output", this.#log, this.now, this.#outputs));
    }
    this.#underWay.push(...this.outbox.begin(this.now, rules));
    this.#save();
  }

  /** Ends the prediction; all receivers accept from now on. */
  end(): void {
    this.outbox.planEnd(happening("completed", this.#log + 5, this.now, this.#outputs));
    this.#save();
    for (let rounds = 0; this.outbox.pending; rounds++) {
      if (rounds > 1_000) throw new Error("it never ends");
      this.now = Math.max(this.now, this.outbox.dueAt());
      this.alarm(true);
      for (const begun of this.#underWay.splice(0)) {
        this.outbox.settle(begun, { status: 204, error: null }, this.now, 0.5, rules);
      }
      this.#save();
    }
  }

  #save(): void {
    const { changed, dropped } = this.outbox.takeChanges();
    for (const event of changed) this.#rows.set(event.sequence, JSON.stringify(event));
    for (const sequence of dropped) this.#rows.delete(sequence);
    expect(this.#bodies()).toEqual(this.outbox.events.map((event) => JSON.stringify(event)));
  }

  #stored(): OutboxEvent[] {
    return this.#bodies().map((body) => JSON.parse(body));
  }

  #bodies(): string[] {
    const rows = [...this.#rows].toSorted(([a], [b]) => a - b);
    return rows.map(([, body]) => body);
  }
}

function check({ events }: Outbox): void {
  const sequences = events.map(({ sequence }) => sequence);
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
  const deliveries = events.flatMap((event) => event.deliveries);
  for (const { endpoint_id } of destinations) {
    const underWay = deliveries.filter((one) => one.endpoint_id === endpoint_id && one.under_way);
    expect(underWay.length).toBeLessThanOrEqual(1);
  }
}

const settled = (outcome: Outcome): Step => ({ do: "settle", outcome, chance: 0 });
const well = settled({ status: 200, error: null });

const REFUSED: Step[] = [
  { do: "die" },
  well,
  { do: "output" },
  well,
  { do: "output" },
  { do: "output" },
  well,
  well,
  settled({ status: 410, error: "responded with status 410", final: true }),
];

it("an outbox delivers all events that it must to all receivers, in an order that can be restored", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const life = new Life();
      for (const one of steps) {
        life.take(one);
        check(life.outbox);
      }
      life.end();
      check(life.outbox);
      const all = life.outbox.events.flatMap((event) => event.deliveries);
      const isGone = all.some(
        (one) => one.endpoint_id === null && one.attempts.some(({ status }) => status === 410),
      );
      for (const { event, sequence, outputs, deliveries } of life.outbox.events) {
        for (const { endpoint_id, state, attempts, failures, losses } of deliveries) {
          if (state === "failed") {
            // The delivery was given up for a reason.
            const final = attempts.at(-1)?.status === 410 || (endpoint_id === null && isGone);
            expect(final || failures >= 12 || losses >= 11).toBe(true);
            continue;
          }
          const told = attempts.some(({ status, error }) => status !== null && error === null);
          if (event !== "output") expect([event, told]).toEqual([event, true]);
          else if (!told) {
            // The superseded output is contained in a later one that was delivered, or that failed finally.
            const later = life.outbox.events.filter(
              (one) =>
                one.sequence > sequence &&
                one.outputs >= outputs &&
                one.deliveries.some(
                  (d) => d.endpoint_id === endpoint_id && ["delivered", "failed"].includes(d.state),
                ),
            );
            expect([state, later.length > 0]).toEqual(["superseded", true]);
          }
        }
      }
    }),
    {
      numRuns: sized(100, 500),
      // The later output, which superseded two, was refused finally.
      examples: [[REFUSED]],
    },
  );
});
