/** Runs whose events an endpoint gets. */
import type { CreateWebhookEndpoint } from "../../../src/protocol/webhook.ts";
import { newEndpoint } from "./endpoints.ts";
import { addressOf, freshPath } from "./receiver.ts";
import type { World } from "./world.ts";

export async function register({ client }: World, fields: Partial<CreateWebhookEndpoint> = {}) {
  const path = freshPath();
  return { path, ...(await newEndpoint(client, { url: addressOf(path), ...fields })) };
}

/** Runs a prediction to its end. Returns its ID. */
export async function run(world: World, options: object = {}): Promise<string> {
  const { body } = await world.client.create({ model: world.model, input: {}, ...options });
  const { channel } = await (await world.runner()).work();
  await channel.succeed("one");
  return body.id;
}
