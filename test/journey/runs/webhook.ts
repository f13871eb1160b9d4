/** Webhooks of predictions: a receiver that gets them, and a redelivery to one that has missed them. */
import { expect, it } from "vitest";
import { verifyWebhook } from "../../../src/receiver/index.ts";
import { endOf } from "../support/end.ts";
import { leaks, receiver, world } from "../support/shared.ts";
import { create, pathWith, payloadOf, redeliver } from "../support/webhook-calls.ts";
import { deliveryIn, ledgerWith } from "../support/webhook-ledger.ts";
import { newStandardSecret } from "../support/webhook-signatures.ts";

it("a receiver gets each status once, and the helper for receivers verifies it", async () => {
  const secret = newStandardSecret();
  const path = pathWith();
  const watch = await create("hello", { name: "hook" }, path, { secret });
  const full = await endOf(world, watch, "succeeded");
  const received = await receiver.waitFor(path, 2);
  const events = await Promise.all(received.map((one) => verifyWebhook(one, secret)));
  expect(events.map(({ status, webhook }) => [status, webhook.event])).toEqual([
    ["started", "started"],
    ["succeeded", "completed"],
  ]);
  expect(events[1]).toMatchObject({ ...full, data_omitted: false });
  const altered = { ...received[1], body: received[1]?.body.replace("hook", "crook") ?? "" };
  await expect(verifyWebhook({ headers: {}, ...altered }, secret)).rejects.toMatchObject({
    code: "no_match",
  });
  const answers = received.map(({ body, headers }) => body + JSON.stringify(headers));
  expect(leaks([secret], answers)).toEqual([]);
});

it("a manual redelivery sends an event that the receiver has missed", async () => {
  const path = pathWith({ status: 500 }, "reset");
  const watch = await create("hello", { name: "again" }, path);
  const full = await endOf(world, watch, "succeeded");
  const failed = await ledgerWith(world.client, watch.id, (events) => {
    for (const name of ["started", "completed"] as const) {
      const { delivery } = deliveryIn(events, name);
      expect(delivery.next_attempt_at).not.toBeNull();
      expect(delivery.attempts).toHaveLength(1);
    }
  });
  const { event } = deliveryIn(failed, "completed");
  await redeliver(watch.id, event.id);
  const [, , redelivered] = await receiver.waitFor(path, 3);
  expect(redelivered && payloadOf(redelivered)).toMatchObject(full);
  await ledgerWith(world.client, watch.id, (events) => {
    const { delivery } = deliveryIn(events, "completed");
    expect(delivery.state).toBe("delivered");
    expect(delivery.attempts.map(({ error }) => error === null)).toEqual([false, true]);
    expect(deliveryIn(events, "started").delivery.state).toBe("pending");
  });
  // A redelivery of an event that has arrived sends the same body under the same ID.
  await redeliver(watch.id, event.id);
  const [, before, , after] = await receiver.waitFor(path, 4);
  expect(after?.body).toBe(before?.body);
  expect(after?.headers["webhook-id"]).toBe(event.id);
});
