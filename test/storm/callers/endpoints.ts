/**
 * Endpoints of an account, which get the events of all its predictions. Only one of two accounts has
 * endpoints: predictions without receivers take shorter code paths, which the other account's do.
 */
import { createdEndpointSecret, createdWebhookEndpoint } from "../../../src/protocol/webhook.ts";
import type { Bed } from "../bed.ts";
import type { Endpoint } from "../history.ts";
import type { EndpointPlan } from "../plan/endpoints.ts";

const ACCOUNT = "bob";

/** Opens endpoints. Each has two secrets, as during a replacement. */
export async function openEndpoints(
  { clients, receiver, receiverCable }: Bed,
  plans: EndpointPlan[],
): Promise<Endpoint[]> {
  const client = clients[ACCOUNT];
  const opened = plans.map(async ({ path, events, overCable, meets }): Promise<Endpoint> => {
    receiver.script(path, meets);
    const url = `${(overCable ? receiverCable : receiver).url}${path}`;
    const body = { url, events };
    const { id, secret } = await client.call(createdWebhookEndpoint, "POST", "/webhook-endpoints", {
      body,
    });
    const more = `/webhook-endpoints/${id}/secrets`;
    const { secret: next } = await client.call(createdEndpointSecret, "POST", more);
    return { id, account: ACCOUNT, path, events, secrets: [secret, next] };
  });
  return Promise.all(opened);
}
