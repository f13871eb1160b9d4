/** Webhooks of predictions: the ends of deliveries, and receivers that nobody waits for. */
import { afterEach, describe, expect, it } from "vitest";
import { USERNAME } from "../support/access.ts";
import { asks, openAiOf, predictionIn } from "../support/conventions.ts";
import { endOf } from "../support/end.ts";
import { receiver, runner, world } from "../support/shared.ts";
import {
  create,
  endpoint,
  first,
  pathWith,
  payloadOf,
  redeliver,
  removeEndpoints,
} from "../support/webhook-calls.ts";
import { deliveryIn, ledgerWith } from "../support/webhook-ledger.ts";
import { expectSigned, newStandardSecret } from "../support/webhook-signatures.ts";

const OVER_1_MIB = 2 ** 20 + 1;

describe("deliveries", () => {
  afterEach(removeEndpoints);

  it("a receiver that answered 410 gets nothing more", async () => {
    const [path, other] = [pathWith({ status: 410 }), pathWith()];
    const { id } = await endpoint(other, ["completed"]);
    const watch = await create("gated", { before: [], gate: "gone", after: [] }, path);
    await receiver.waitFor(path, 1);
    await ledgerWith(world.client, watch.id, (events) => {
      expect(deliveryIn(events, "started").delivery).toMatchObject({ state: "failed" });
    });
    runner.open("gated", "gone");
    await endOf(world, watch, "succeeded");
    await receiver.waitFor(other, 1);
    const ledger = await ledgerWith(world.client, watch.id, (events) => {
      expect(deliveryIn(events, "completed", id).delivery.state).toBe("delivered");
    });
    const tries = ledger
      .flatMap(({ deliveries }) => deliveries)
      .filter(({ endpoint_id }) => endpoint_id === null)
      .flatMap(({ attempts }) => attempts);
    expect(tries).toMatchObject([{ status: 410 }]);
    expect(receiver.of(path)).toHaveLength(1);
  });

  it("a silent receiver delays neither the prediction nor another receiver", async () => {
    const [silent, quick] = [pathWith("silent"), pathWith()];
    const { id } = await endpoint(quick, ["started", "completed"]);
    const watch = await create("gated", { before: ["a"], gate: "quiet", after: ["b"] }, silent);
    await receiver.waitFor(silent, 1);
    await first(quick, "started");
    runner.open("gated", "quiet");
    await endOf(world, watch, "succeeded");
    await first(quick, "completed");
    // The other receiver has its events while the first try still waits for its answer.
    const ledger = await ledgerWith(world.client, watch.id, (events) => {
      expect(deliveryIn(events, "completed", id).delivery.state).toBe("delivered");
    });
    expect(deliveryIn(ledger, "started").delivery).toMatchObject({
      state: "pending",
      attempts: [{ duration_ms: null, status: null, error: null }],
    });
    expect(deliveryIn(ledger, "completed").delivery).toMatchObject({
      state: "pending",
      attempts: [],
    });
    expect(receiver.of(silent)).toMatchObject([{ over: false }]);
  });

  it("a delivery says when the data was gone before it could be sent", async () => {
    const path = pathWith({ status: 503 }, { status: 503 });
    const watch = await create("hello", { name: "forgotten" }, path);
    await endOf(world, watch, "succeeded");
    const ledger = await ledgerWith(world.client, watch.id, (events) => {
      expect(deliveryIn(events, "completed").delivery.attempts).toMatchObject([{ status: 503 }]);
    });
    const answer = await world.client.fetch("DELETE", `/predictions/${watch.id}`);
    expect(answer.status).toBe(200);
    const { event } = deliveryIn(ledger, "completed");
    await redeliver(watch.id, event.id);
    const [, told, late] = await receiver.waitFor(path, 3);
    expect(told && payloadOf(told)).toMatchObject({
      output: "Hello, forgotten!",
      data_removed: false,
    });
    expect(late && payloadOf(late)).toMatchObject({
      status: "succeeded",
      input: null,
      output: null,
      data_removed: true,
      data_omitted: true,
      webhook: { id: event.id, event: "completed" },
    });
  });

  it("a webhook leaves out values over 1 MiB, and nothing else", async () => {
    const path = pathWith();
    const watch = await create("ample", { size: OVER_1_MIB }, path, { events: ["completed"] });
    const full = await endOf(world, watch, "succeeded");
    expect(full.output).toBe("x".repeat(OVER_1_MIB));
    const told = payloadOf(await first(path, "completed"));
    expect(told).toMatchObject({ ...full, output: null, data_omitted: true });
    const read = await world.client.fetch("GET", new URL(told.url).pathname.replace("/v1", ""));
    expect(await read.json()).toEqual(full);
  });

  it("a webhook of the OpenAI convention's call works, and its container does not get the field", async () => {
    const setup = openAiOf(world.access);
    const path = pathWith();
    const secret = newStandardSecret();
    const call = {
      model: `${USERNAME}/oracle`,
      messages: asks({ echo: true }),
      webhook: { url: receiver.url + path, secret },
    };
    const { choices } = await setup.openai.chat.completions.create(call);
    const heard: unknown = JSON.parse(choices[0]?.message.content ?? "");
    expect(heard).toMatchObject({ messages: call.messages });
    expect(heard).not.toHaveProperty("webhook");
    const received = await first(path, "completed");
    expectSigned(received, [secret]);
    const id = predictionIn(setup.wire.last);
    const full = await endOf(world, world.watch(id), "succeeded");
    expect(payloadOf(received)).toMatchObject(full);
    expect(JSON.stringify(full)).not.toContain("webhook");
    await setup.wire.settle();
  });
});
