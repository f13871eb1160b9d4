/** Webhooks as their receivers and their owners see them. */
import { decodeBase64, encodeBase64 } from "hono/utils/encode";
import { expect } from "vitest";
import { hex } from "../../../src/domain/hex.ts";
import {
  type WebhookDelivery,
  type WebhookEvent,
  webhookEvent,
} from "../../../src/protocol/webhook.ts";
import {
  WEBHOOK_HEADERS,
  type WebhookPayload,
  webhookPayload,
} from "../../../src/protocol/webhook-payload.ts";
import type { Received } from "../../receiver/exchange.ts";
import type { Client } from "./client.ts";
import { exchanged, received } from "./receiver.ts";
import { eventually } from "./time.ts";

/** A body as it came, which must be a whole one. */
export const payloadOf = ({ body }: Received): WebhookPayload =>
  webhookPayload.parse(JSON.parse(body));

/** What has come to a path once so many have, in the order in which it happened. */
export async function told(path: string, count: number): Promise<WebhookPayload[]> {
  const all = (await exchanged(path, count)).map(payloadOf);
  expect(all).toHaveLength(count);
  return all.toSorted((a, b) => a.webhook.sequence - b.webhook.sequence);
}

/** What was told of, in order. */
export const eventsOf = (payloads: WebhookPayload[]) =>
  payloads.map(({ webhook, status, output }) => [webhook.event, status, output]);

export const ledger = async (client: Client, id: string): Promise<WebhookEvent[]> => {
  const page = await client.ok<{ items: unknown[] }>("GET", `/v1/predictions/${id}/webhooks`);
  return webhookEvent.array().parse(page.items);
};

/** `pending` is one that has failed and waits. */
function stateOf({ state, next_attempt_at, attempts }: WebhookDelivery): string {
  if (state !== "pending") return state;
  if (next_attempt_at === null) return "under way";
  return attempts.length === 0 ? "planned" : state;
}

/** The states in the ledger, once they are these. */
export const settled = (client: Client, id: string, ...states: string[]): Promise<WebhookEvent[]> =>
  eventually(async () => {
    const events = await ledger(client, id);
    const found = events.flatMap(({ deliveries }) => deliveries.map(stateOf));
    expect(found).toEqual(states);
    return events;
  });

/** Nothing more comes: looked at when whatever may be under way has ended. */
export async function expectNoMoreThan(path: string, count: number): Promise<void> {
  expect(await received(path)).toHaveLength(count);
}

/** Both signatures of a delivery, made again from what came. */
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
