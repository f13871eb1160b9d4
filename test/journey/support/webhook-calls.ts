/** Predictions of the shared deployment with webhooks, and what its receiver gets of them. */
import { expect } from "vitest";
import {
  type CreatePredictionOfVersion,
  predictionWithIO,
} from "../../../src/protocol/prediction.ts";
import { createdWebhookEndpoint, type Webhook } from "../../../src/protocol/webhook.ts";
import { type WebhookPayload, webhookPayload } from "../../../src/protocol/webhook-payload.ts";
import type { Behaviour, Received } from "../../receiver/exchange.ts";
import { USERNAME } from "./access.ts";
import { receiver, world } from "./shared.ts";
import type { Watch } from "./watch.ts";

let count = 0;
const endpoints: string[] = [];

/** Returns a new path that answers with these behaviours, and then with 200. */
export function pathWith(...behaviours: Behaviour[]): string {
  const path = `/hook/${++count}`;
  receiver.script(path, [...behaviours, { status: 200 }]);
  return path;
}

export async function create(
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

export async function endpoint(path: string, events: Webhook["events"]) {
  const body = { url: receiver.url + path, events };
  const made = await world.client.call(createdWebhookEndpoint, "POST", "/webhook-endpoints", {
    body,
  });
  endpoints.push(made.id);
  return made;
}

export const payloadOf = ({ body }: Received): WebhookPayload =>
  webhookPayload.parse(JSON.parse(body));

/** Returns the first request of this event to a path. */
export async function first(path: string, name: string): Promise<Received> {
  const isIt = (one: Received) => payloadOf(one).webhook.event === name;
  const found = (await receiver.waitFor(path, (all) => all.some(isIt))).find(isIt);
  if (!found) throw new Error("it was there");
  return found;
}

export async function redeliver(id: string, event: string): Promise<void> {
  const answer = await world.client.fetch("POST", `/predictions/${id}/webhooks/${event}/redeliver`);
  expect(answer.status, await answer.text()).toBe(202);
}

export async function removeEndpoints(): Promise<void> {
  for (const id of endpoints.splice(0))
    await world.client.fetch("DELETE", `/webhook-endpoints/${id}`);
}
