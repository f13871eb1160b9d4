/** The rows about a prediction's deliveries in the account object. */
import { describe, expect, it } from "vitest";
import { deliveryRowsOf } from "../../../src/domain/webhooks/delivery-row.ts";
import { Outbox } from "../../../src/domain/webhooks/outbox.ts";
import { all, delivered, happening, own, refused, rules, settle } from "./outbox-samples.ts";

const rowsOf = (outbox: Outbox) =>
  deliveryRowsOf("p", outbox.events, "https://example.com/hook", 9_000);

describe("the rows of an outbox", () => {
  it("an outbox has one row for each event and receiver", () => {
    const outbox = new Outbox([own, all]);
    outbox.plan(happening("started", 2, 1_000));
    const common = { prediction_id: "p", sequence: 2, event: "started", at: 1_000, told_at: 9_000 };
    const fresh = { state: "pending", attempts: 0, status: null, error: null, next_at: 1_000 };
    expect(rowsOf(outbox)).toEqual([
      { ...common, ...fresh, endpoint_id: "", url: "https://example.com/hook" },
      { ...common, ...fresh, endpoint_id: "all", url: null },
    ]);
  });

  it("rows have the last try that has ended, and the time of the next one", () => {
    const outbox = new Outbox([own]);
    outbox.plan(happening("started", 2, 1_000));
    const [first] = outbox.begin(1_000, rules);
    expect(rowsOf(outbox)).toMatchObject([{ attempts: 1, status: null, next_at: null }]);
    settle(outbox, first, refused(503), 1_080);
    const [row] = rowsOf(outbox);
    const { error } = refused(503);
    expect(row).toMatchObject({ state: "pending", attempts: 1, status: 503, error });
    const [second] = outbox.begin(row?.next_at ?? 0, rules);
    expect(rowsOf(outbox)).toMatchObject([{ attempts: 2, error, next_at: null }]);
    settle(outbox, second, delivered, 900_000);
    expect(rowsOf(outbox)).toMatchObject([{ state: "delivered", error: null, next_at: null }]);
  });

  it("rows have no outputs, unless their delivery failed", () => {
    const outbox = new Outbox([all]);
    outbox.plan(happening("output", 3, 1_000));
    const [first] = outbox.begin(1_000, rules);
    expect(rowsOf(outbox)).toEqual([]);
    settle(outbox, first, refused(503), 1_080);
    expect(rowsOf(outbox)).toMatchObject([{ event: "output", attempts: 1 }]);
  });
});
