/** Webhooks of predictions: redeliveries, the ends of deliveries, and receivers that nobody waits for. */
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { type CreatePredictionOfVersion, predictionWithIO } from "../../src/protocol/prediction.ts";
import { createdWebhookEndpoint, type Webhook } from "../../src/protocol/webhook.ts";
import { type WebhookPayload, webhookPayload } from "../../src/protocol/webhook-payload.ts";
import { verifyWebhook } from "../../src/receiver/index.ts";
import type { Behaviour, Received } from "../receiver/exchange.ts";
import { Receiver } from "../receiver/receiver.ts";
import { USERNAME } from "./support/access.ts";
import { asks, openAiOf, predictionIn } from "./support/conventions.ts";
import { endOf } from "./support/end.ts";
import { leaksIn, listen } from "./support/leaks.ts";
import type { Runner } from "./support/runner.ts";
import type { Watch } from "./support/watch.ts";
import { deliveryIn, ledgerWith } from "./support/webhook-ledger.ts";
import { expectSigned, newStandardSecret } from "./support/webhook-signatures.ts";
import { World } from "./support/world.ts";

/** So long that nothing but a manual redelivery comes in the time of a test. */
const RETRY_SECONDS = "600";
/** Longer than any test, so a test would notice a wait for a silent receiver. */
const TIMEOUT_SECONDS = "30";
const OVER_1_MIB = 2 ** 20 + 1;

let world: World;
let runner: Runner;
let receiver: Receiver;
let logged: () => string[];
let count = 0;

beforeAll(async () => {
  logged = listen();
  receiver = await Receiver.open();
  world = await World.open({
    variables: {
      WEBHOOK_ALLOW_INSECURE: "true",
      WEBHOOK_RETRY_SECONDS: RETRY_SECONDS,
      WEBHOOK_TIMEOUT_SECONDS: TIMEOUT_SECONDS,
    },
  });
  runner = await world.runner("one", { slots: 8 });
});
afterEach(async () => {
  for (const id of endpoints.splice(0))
    await world.client.fetch("DELETE", `/webhook-endpoints/${id}`);
});
afterAll(async () => {
  await world.close();
  await receiver.close();
  vi.restoreAllMocks();
});

const endpoints: string[] = [];

/** Returns a new path that answers with these behaviours, and then with 200. */
function pathWith(...behaviours: Behaviour[]): string {
  const path = `/hook/${++count}`;
  receiver.script(path, [...behaviours, { status: 200 }]);
  return path;
}

async function create(
  model: string,
  input: CreatePredictionOfVersion["input"],
  path: string,
  webhook: Partial<Webhook> = {},
): Promise<Watch> {
  const body = {
    model: `${USERNAME}/${model}`,
    input,
    webhook: { url: receiver.url + path, ...webhook },
  };
  const { id } = await world.client.call(predictionWithIO, "POST", "/predictions", { body });
  return world.watch(id);
}

async function endpoint(path: string, events: Webhook["events"]) {
  const body = { url: receiver.url + path, events };
  const made = await world.client.call(createdWebhookEndpoint, "POST", "/webhook-endpoints", {
    body,
  });
  endpoints.push(made.id);
  return made;
}

const payloadOf = ({ body }: Received): WebhookPayload => webhookPayload.parse(JSON.parse(body));

/** Returns the first request of this event to a path. */
async function first(path: string, name: string): Promise<Received> {
  const isIt = (one: Received) => payloadOf(one).webhook.event === name;
  const found = (await receiver.waitFor(path, (all) => all.some(isIt))).find(isIt);
  if (!found) throw new Error("it was there");
  return found;
}

async function redeliver(id: string, event: string): Promise<void> {
  const answer = await world.client.fetch("POST", `/predictions/${id}/webhooks/${event}/redeliver`);
  expect(answer.status, await answer.text()).toBe(202);
}

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
  expect(leaksIn([...logged(), ...runner.lines, ...answers], [secret])).toEqual([]);
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
