/** Valid requests of operations that random requests seldom make successfully. */
import { z } from "zod";
import { Client, ORIGIN } from "../client.ts";
import { newPinnable } from "../examples.ts";
import { type Callers, tokensOf } from "./callers.ts";
import type { Sent } from "./tricks.ts";
import type { Received } from "./verdict.ts";

const CREATED = z.object({ id: z.string().optional(), token: z.string().optional() });

/**
 * Sends requests that need what random requests seldom leave: hardware without models, a former username, an
 * endpoint and an example that are there.
 */
export async function sendPrepared(
  callers: Callers,
  n: number,
  ask: (sent: Sent) => Promise<Received>,
): Promise<void> {
  const { operator, user } = callers;
  const send = async (method: string, path: string, body?: object, by = user) => {
    const { authorization = "" } = by;
    const headers = { authorization, "content-type": "application/json" };
    const url = `${ORIGIN}/v1${path}`;
    const sent = { method, url, headers, body: body && JSON.stringify(body), known: undefined };
    const received = await ask(sent);
    return CREATED.parse(received.text.startsWith("{") ? JSON.parse(received.text) : {});
  };
  const hardware = `/operator/hardware/spare-${n}`;
  await send("PUT", hardware, { name: "Spare" }, operator);
  await send("DELETE", hardware, undefined, operator);
  const username = `former-${n}`;
  await send("POST", "/operator/users", { username }, operator);
  const { token } = await send(
    "POST",
    `/operator/users/${username}/tokens`,
    { name: "a" },
    operator,
  );
  const renamed = { name: username, authorization: `Bearer ${token}` };
  await send("PATCH", "/user", { username: `later-${n}` }, renamed);
  await send("DELETE", `/operator/usernames/${username}`, undefined, operator);
  const appointed = `/operator/users/later-${n}/operator`;
  await send("PUT", appointed, undefined, operator);
  await send("DELETE", appointed, undefined, operator);
  const endpoint = { url: "https://example.com/hook", events: ["completed"] };
  const { id } = await send("POST", "/webhook-endpoints", endpoint);
  await send("POST", `/webhook-endpoints/${id}/test`);
  await send("DELETE", `/webhook-endpoints/${id}`);
  const [own] = tokensOf({ ...callers, others: [] });
  const { owner, name, prediction_id } = await newPinnable({ client: new Client(own) });
  const examples = `/models/${owner}/${name}/examples`;
  const pinned = await send("POST", examples, { prediction_id });
  await send("PATCH", `${examples}/${pinned.id}`, { title: "A title" });
  await send("DELETE", `${examples}/${pinned.id}`);
}
