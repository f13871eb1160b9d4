/** Webhook endpoints to work with. */
import { z } from "zod";
import {
  createdEndpointSecret,
  createdWebhookEndpoint,
  type WebhookEndpoint,
  webhookEndpoint,
  webhookTest,
} from "../../../src/protocol/webhook.ts";
import type { Client } from "./client.ts";
import { addressOf, freshPath } from "./receiver.ts";

export const WEBHOOK_ENDPOINTS = "/v1/webhook-endpoints";

export const newEndpoint = async (client: Client, fields: object = {}) =>
  createdWebhookEndpoint.parse(
    await client.ok("POST", WEBHOOK_ENDPOINTS, { url: addressOf(freshPath()), ...fields }),
  );

export const getEndpoint = async (client: Client, id: string): Promise<WebhookEndpoint> =>
  webhookEndpoint.parse(await client.ok("GET", `${WEBHOOK_ENDPOINTS}/${id}`));

export const changeEndpoint = async (client: Client, id: string, changes: object) =>
  webhookEndpoint.parse(await client.ok("PATCH", `${WEBHOOK_ENDPOINTS}/${id}`, changes));

export const addSecret = async (client: Client, id: string) =>
  createdEndpointSecret.parse(await client.ok("POST", `${WEBHOOK_ENDPOINTS}/${id}/secrets`));

export const testEndpoint = async (client: Client, id: string) =>
  webhookTest.parse(await client.ok("POST", `${WEBHOOK_ENDPOINTS}/${id}/test`));

export const listEndpoints = async (client: Client) =>
  z
    .object({ items: z.array(webhookEndpoint), next_url: z.null(), previous_url: z.null() })
    .parse(await client.ok("GET", WEBHOOK_ENDPOINTS)).items;
