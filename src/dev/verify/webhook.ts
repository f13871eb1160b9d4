/**
 * A webhook out and back.
 *
 * A deployment on Cloudflare cannot reach this machine, unless a tunnel leads here: then the webhook of a
 * prediction has to arrive, and its signature is verified. Otherwise the deployment posts a test delivery
 * to its own public address, where nothing takes it: the answer that it records shows that it resolved
 * the host, left, and came back in.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { predictionWithIO } from "../../protocol/prediction.ts";
import { createdWebhookEndpoint, webhookTest } from "../../protocol/webhook.ts";
import { verifyWebhook } from "../../receiver/index.ts";
import type { Client } from "../client.ts";
import type { Check } from "./check.ts";
import type { Visit } from "./visit.ts";

export interface Tunnel {
  /** URL of the tunnel from outside; undefined: there is none. */
  url: string | undefined;
  /** Port on this machine at which the tunnel ends. 0: any free port. */
  port: number;
}

const PATIENCE_MS = 60_000;
/** Nothing is posted there. */
const DEAD_END = "/docs";

export const webhook = (tunnel: Tunnel): Check => ({
  name: "Webhook",
  run: (visit) => {
    const isHere = /^https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])/.test(visit.url);
    return tunnel.url || isHere ? arrives(visit, tunnel) : webhookToItself.run(visit);
  },
});

async function arrives(visit: Visit, { url, port }: Tunnel): Promise<string> {
  const { client } = visit;
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  try {
    const address = server.address();
    const here = typeof address === "object" ? `http://127.0.0.1:${address?.port}` : undefined;
    const { secret } = await endpointAt(client, `${url ?? here}/auspex-verify`);
    const received = once(server, "request", { signal: AbortSignal.timeout(PATIENCE_MS) });
    const body = { model: await visit.publish("text-generation"), input: { max_tokens: 5 } };
    const { id } = await client.call(predictionWithIO, "POST", "/predictions", { body });
    const [request, response] = await received.catch(() => {
      throw new Error(`no delivery within ${PATIENCE_MS / 1000} s`);
    });
    const payload = await verifyWebhook(
      { headers: request.headers, body: await buffer(request) },
      secret,
    );
    response.end();
    if (payload.id !== id || payload.status !== "succeeded")
      throw new Error(`arrived for ${payload.id}, which is ${payload.status}; expected ${id}`);
    return "delivered to this machine with a valid signature";
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

export const webhookToItself: Check = {
  name: "Webhook",
  async run({ client, url }) {
    const { id } = await endpointAt(client, url + DEAD_END);
    const path = `/webhook-endpoints/${id}/test`;
    const { status, error } = await client.call(webhookTest, "POST", path);
    if (status === null || status >= 500) throw new Error(error ?? `got the response ${status}`);
    return `delivered to the deployment itself (${status}); to receive one here, pass a tunnel with --webhook-url`;
  },
};

const endpointAt = (client: Client, url: string) =>
  client.call(createdWebhookEndpoint, "POST", "/webhook-endpoints", {
    body: { url, events: ["completed"], description: "npm run verify" },
  });
