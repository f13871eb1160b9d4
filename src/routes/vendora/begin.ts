/**
 * Begins the call of a request. Whoever waits for its end keeps nothing of the body, which may have megabytes:
 * a closure that reads it from the request, and no variable, is what may begin while others wait.
 */
import type { Context } from "hono";
import type { AppEnv } from "../../context.ts";
import type { VendoraCall } from "../../protocol/runner.ts";
import { askedOf, type BegunCall, beginCall, type Call } from "../../services/vendora/calls.ts";

export async function begin(
  c: Context<AppEnv>,
  call: VendoraCall,
  body: Call["body"],
  webhook: Call["webhook"],
  { "idempotency-key": idempotencyKey }: { "idempotency-key"?: string | undefined },
  more: Pick<Call, "input" | "isOwnInput" | "streams"> = {},
): Promise<BegunCall> {
  const { services, caller, target } = c.var;
  const { origin } = new URL(c.req.url);
  const { sentFiles: sent, releaseBody: onInputSent } = c.var;
  const order = { call, target, body, webhook, origin, idempotencyKey, sent, onInputSent, ...more };
  const begun = await beginCall(services, caller, order);
  c.set("predictionId", begun.id);
  return { ...begun, request: askedOf(begun.request) };
}
