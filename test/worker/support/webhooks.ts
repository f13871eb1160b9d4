/** Webhooks from the side of their receiver and of their owner. */
import { runInDurableObject } from "cloudflare:test";
import { decodeBase64, encodeBase64 } from "hono/utils/encode";
import { expect } from "vitest";
import { hex } from "../../../src/lib/hex.ts";
import type { PredictionObject } from "../../../src/objects/prediction/object.ts";
import {
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookEventName,
  webhookEvent,
} from "../../../src/protocol/webhook.ts";
import {
  WEBHOOK_HEADERS,
  type WebhookPayload,
  webhookPayload,
} from "../../../src/protocol/webhook-payload.ts";
import type { Received } from "../../receiver/exchange.ts";
import type { Client } from "./client.ts";
import { named, eventsOf as streamed } from "./events.ts";
import { eventually } from "./eventually.ts";
import { addressOf, exchanged, freshPath, received } from "./receiver.ts";
import { newWorld } from "./world.ts";

interface Told {
  input?: object;
  events?: WebhookEventName[];
  secret?: string;
  retention_seconds?: number;
}

/** Returns a prediction that a runner has taken, with a webhook to a path of its own. */
export async function watched({ input = { a: 1 }, events, secret, ...options }: Told = {}) {
  const world = await newWorld();
  const path = freshPath();
  const webhook = { url: addressOf(path), ...(events && { events }), ...(secret && { secret }) };
  const { client, model } = world;
  const { body } = await client.create({ model, input, webhook, ...options });
  const runner = await world.runner();
  const job = await runner.take();
  const channel = await runner.connect(job);
  return { ...world, path, id: body.id, runner, job, channel };
}

export type Watched = Awaited<ReturnType<typeof watched>>;

export const READY = { event: "setup", data: { phase: "ready" } } as const;

/** Returns the payload of a request, which must be complete. */
export const payloadOf = ({ body }: Received): WebhookPayload =>
  webhookPayload.parse(JSON.parse(body));

/** Returns the payloads of a path once there are `count`, in the order of their events. */
export async function told(path: string, count: number): Promise<WebhookPayload[]> {
  const all = (await exchanged(path, count)).map(payloadOf);
  expect(all).toHaveLength(count);
  return all.toSorted((a, b) => a.webhook.sequence - b.webhook.sequence);
}

/** Returns event, status and output of each payload, in order. */
export const eventsOf = (payloads: WebhookPayload[]) =>
  payloads.map(({ webhook, status, output }) => [webhook.event, status, output]);

export const ledger = async (client: Client, id: string): Promise<WebhookEvent[]> => {
  const page = await client.ok<{ items: unknown[] }>("GET", `/v1/predictions/${id}/webhooks`);
  return webhookEvent.array().parse(page.items);
};

/** Returns the state of a delivery; `pending` has failed and waits for its next attempt. */
function stateOf({ state, next_attempt_at, attempts }: WebhookDelivery): string {
  if (state !== "pending") return state;
  if (next_attempt_at === null) return "under way";
  return attempts.length === 0 ? "planned" : state;
}

/** Waits until the deliveries have these states. @returns the events */
export const settled = (client: Client, id: string, ...states: string[]): Promise<WebhookEvent[]> =>
  eventually(async () => {
    const events = await ledger(client, id);
    const found = events.flatMap(({ deliveries }) => deliveries.map(stateOf));
    expect(found).toEqual(states);
    return events;
  });

/** Returns the time of the object's alarm, unix ms, or null when it is not set. */
export const alarmOf = (stub: DurableObjectStub<PredictionObject>): Promise<number | null> =>
  runInDurableObject(stub, (_, { storage }) => storage.getAlarm());

/** Redelivers an event, which must be accepted. */
export async function redeliver(client: Client, id: string, event: string | undefined) {
  const path = `/v1/predictions/${id}/webhooks/${event}/redeliver`;
  const { status, body } = await client.json("POST", path);
  expect(status).toBe(202);
  return webhookEvent.parse(body);
}

/** Expects each received body to have the output up to its event, as the ended prediction's stream has it. */
export async function expectAsStreamed(client: Client, id: string, path: string): Promise<void> {
  const all = await streamed(client.stream(id));
  for (const { webhook, output } of (await received(path)).map(payloadOf)) {
    const until = all.filter((one) => one.id <= webhook.sequence);
    const outputs = named(until, "output");
    expect([webhook.id, output]).toEqual([webhook.id, outputs.length > 0 ? outputs : null]);
  }
}

/** Expects no more than `count` requests, after everything under way has ended. */
export async function expectNoMoreThan(path: string, count: number): Promise<void> {
  expect(await received(path)).toHaveLength(count);
}

/** Expects both signatures of a delivery to match its body. */
export async function expectSigned(
  { headers, body }: Received,
  ...secrets: string[]
): Promise<void> {
  const id = headers[WEBHOOK_HEADERS.id];
  const at = headers[WEBHOOK_HEADERS.timestamp];
  const standard = secrets.map(async (secret) => {
    const key = secret.startsWith("whsec_") ? decodeBase64(secret.slice(6)) : bytesOf(secret);
    return `v1,${encodeBase64(await hmac(key, `${id}.${at}.${body}`))}`;
  });
  const plain = secrets.map(
    async (secret) => `v1=${hex(await hmac(bytesOf(secret), `${at}.${body}`))}`,
  );
  expect(headers[WEBHOOK_HEADERS.signature]).toBe((await Promise.all(standard)).join(" "));
  const all = [`t=${at}`, ...(await Promise.all(plain))];
  expect(headers[WEBHOOK_HEADERS.plainSignature]).toBe(all.join(","));
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

async function hmac(key: Uint8Array, text: string): Promise<ArrayBuffer> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return crypto.subtle.sign("HMAC", imported, bytesOf(text));
}
