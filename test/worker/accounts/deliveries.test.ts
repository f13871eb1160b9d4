/** The list of webhook deliveries in an account object. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { DeliveryRow } from "../../../src/domain/webhooks/delivery-row.ts";
import type { AccountObject } from "../../../src/objects/account/object.ts";

const row = (n: number, changes: Partial<DeliveryRow> = {}): DeliveryRow => ({
  prediction_id: `01a20000-0000-7000-8000-${String(n).padStart(12, "0")}`,
  sequence: 5,
  endpoint_id: "",
  event: "completed",
  at: 1_000,
  url: "https://example.com/hook",
  state: "delivered",
  attempts: 1,
  status: 200,
  error: null,
  next_at: null,
  told_at: 2_000,
  ...changes,
});

const FAILED: Partial<DeliveryRow> = { state: "failed", status: 500, error: "e" };
const ALL = { which: undefined, endpoint_id: undefined };

const inAccount = (use: (account: AccountObject) => void) =>
  runInDurableObject(env.ACCOUNT.get(env.ACCOUNT.newUniqueId()), use);

const numbers = (account: AccountObject, filter: Parameters<AccountObject["listDeliveries"]>[0]) =>
  account
    .listDeliveries(filter, { from: undefined, back: false, limit: 2_000 })
    .map(({ delivery }) => Number(delivery.prediction_id.slice(-12)));

test("deliveries are listed newest first, and late reports change nothing", () =>
  inAccount((account) => {
    account.recordDeliveries([row(1), row(2, FAILED), row(3, { endpoint_id: "e" })]);
    account.recordDeliveries([row(2, { told_at: 1_999 }), row(1, { ...FAILED, told_at: 2_001 })]);
    expect(numbers(account, ALL)).toEqual([3, 2, 1]);
    expect(numbers(account, { ...ALL, which: "failed" })).toEqual([2, 1]);
    expect(numbers(account, { ...ALL, which: "delivered" })).toEqual([3]);
    expect(numbers(account, { ...ALL, endpoint_id: "e" })).toEqual([3]);
  }));

test("a delivery that waits for its next attempt counts as failed", () =>
  inAccount((account) => {
    const pending = { state: "pending", status: 500, next_at: 9_000 } as const;
    account.recordDeliveries([row(1, { ...pending, error: "e" }), row(2, pending)]);
    expect(numbers(account, { ...ALL, which: "failed" })).toEqual([1]);
  }));

test("the last 500 or so of the delivered and of the failed deliveries are kept", () =>
  inAccount((account) => {
    const rows = Array.from({ length: 700 }, (_, n) => row(n, n % 2 === 0 ? FAILED : {}));
    for (const one of rows) account.recordDeliveries([one]);
    expect(numbers(account, ALL)).toHaveLength(700);
    for (let n = 700; n < 1_900; n++) account.recordDeliveries([row(n)]);
    const failed = numbers(account, { ...ALL, which: "failed" });
    const arrived = numbers(account, { ...ALL, which: "delivered" });
    expect(failed).toHaveLength(350);
    expect(arrived.length).toBeGreaterThanOrEqual(500);
    expect(arrived.length).toBeLessThan(550);
    expect(arrived[0]).toBe(1_899);
  }));
