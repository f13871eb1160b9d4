/** Resources that the paths of the table of permissions name. */
import type { Client } from "./client.ts";
import type { PathParameters } from "./endpoint-access.ts";
import { newEndpoint } from "./endpoints.ts";
import { beginUpload, fileUrl, sendParts, uploaded } from "./files.ts";
import { addressOf, freshPath } from "./receiver.ts";

/** Returns an upload that waits for a part `{}`, one that waits for completion, and a file. */
export async function newUploads(
  client: Client,
): Promise<{ pending: PathParameters; whole: PathParameters }> {
  const part = new TextEncoder().encode("{}");
  const [pending, whole, completed] = await Promise.all([
    beginUpload(client, part.length),
    beginUpload(client, part.length),
    uploaded(client, part),
  ]);
  const [etag = ""] = await sendParts(whole, part);
  const [, source_id = "", file_name = ""] = /files\/(.+)\/(.+)\?/.exec(fileUrl(completed)) ?? [];
  const [, part_query = ""] = pending.urls[0]?.split("?") ?? [];
  const place = { source_id, file_name, part_number: "1", part_query, etag };
  return {
    pending: { ...place, upload_id: pending.id },
    whole: { ...place, upload_id: whole.id },
  };
}

/** Creates a response of the model, which waits. */
export async function newResponse(client: Client, model: string): Promise<PathParameters> {
  const body = { model, input: "Go on", background: true };
  const answer = await client.json<{ id: string }>("POST", "/v1/vendora/responses", body);
  return { response_id: answer.body.id, model: encodeURIComponent(model) };
}

/** Creates a conversation with an item. */
export async function newConversation(client: Client): Promise<PathParameters> {
  const path = "/v1/vendora/conversations";
  const items = [{ id: "msg_first", role: "user", content: "Go on" }];
  const { id } = await client.ok<{ id: string }>("POST", path, { items });
  return { conversation_id: id, item_id: "msg_first" };
}

/** Creates a prediction that has ended and posted its webhook, and an endpoint of the account. */
export async function newWebhooks(client: Client, model: string): Promise<PathParameters> {
  const hook = addressOf(freshPath());
  const { id, secrets } = await newEndpoint(client, { url: hook, enabled: false });
  const { body } = await client.create({ model, input: {}, webhook: { url: hook } });
  await client.cancel(body.id);
  const path = `/v1/predictions/${body.id}/webhooks`;
  const { items } = await client.ok<{ items: { id: string }[] }>("GET", path);
  return {
    hook,
    endpoint_id: id,
    secret_id: secrets[0]?.id ?? "",
    told_id: body.id,
    event_id: items[0]?.id ?? "",
  };
}
