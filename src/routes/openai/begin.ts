/**
 * Begins the call of a request. Its body may have megabytes, and the call may wait for minutes: routes read the
 * body from the request in the function that begins the call, so that no closure holds it meanwhile.
 */
import type { Context } from "hono";
import type { AppEnv } from "../../context.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import { askedOf, type BegunCall, beginCall, type Call } from "../../services/openai/calls.ts";

export async function begin(
  c: Context<AppEnv>,
  call: OpenAiCall,
  body: Call["body"],
  webhook: Call["webhook"],
  { "idempotency-key": idempotencyKey }: { "idempotency-key"?: string | undefined },
  more: Pick<Call, "input" | "isOwnInput" | "streams"> = {},
): Promise<BegunCall> {
  const { services, caller, target } = c.var;
  const { origin } = new URL(c.req.url);
  const { sentFiles: sent, sentBody: source, releaseBody: onInputSent } = c.var;
  const order = {
    ...{ call, target, body, webhook, origin, idempotencyKey, sent, source, onInputSent },
    ...more,
  };
  const begun = await beginCall(services, caller, order);
  c.set("predictionId", begun.id);
  return { ...begun, request: askedOf(begun.request) };
}
