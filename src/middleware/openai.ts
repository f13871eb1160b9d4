/** Middleware of the calls under /v1/vendora, which follow the conventions of OpenAI's API. */

import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { z } from "zod";
import type { AppEnv } from "../context.ts";
import { openAiModelName } from "../protocol/openai/chat.ts";
import type { OpenAiCall } from "../protocol/runner.ts";
import {
  askedOf,
  type BegunCall,
  beginCall,
  type Call,
  type EndedCall,
  findCallable,
  waitForCall,
} from "../services/openai/calls.ts";
import { answererOf, type ParseLog } from "../services/openai/log-reader.ts";
import { ANSWERED_BY_HEADER } from "../services/openai/streams.ts";

export const PREDICTION_HEADER = "auspex-prediction-id";
/** The cost of a call that is answered at its end, in the deployment's currency. */
export const COST_HEADER = "x-auspex-cost";
export const TOOLS_LEFT_OUT_HEADER = "auspex-tools-left-out";
export const CONTENT_LEFT_OUT_HEADER = "auspex-content-left-out";

/** Types that may be listed in a header: they come from the client. */
const LISTABLE = /^[\w.-]{1,64}$/;
const MAX_LISTED = 20;

/** Names the prediction of a call in headers, also of errors. */
export const addPredictionHeaders = createMiddleware<AppEnv>(async (c, next) => {
  await next();
  for (const [header, types] of [
    [TOOLS_LEFT_OUT_HEADER, c.get("omittedTools")],
    [CONTENT_LEFT_OUT_HEADER, c.get("omittedContent")],
  ] as const) {
    const listed = types?.filter((type) => LISTABLE.test(type)).slice(0, MAX_LISTED);
    if (listed?.length) c.header(header, listed.join(", "));
  }
  const id = c.get("predictionId");
  if (!id) return;
  c.header(PREDICTION_HEADER, id);
  const cost = c.get("cost");
  if (cost !== undefined) c.header(COST_HEADER, cost);
  const answeredBy = c.get("answeredBy");
  if (answeredBy !== undefined) c.header(ANSWERED_BY_HEADER, answeredBy);
  // The prediction has already run: a retry would run it again.
  if (c.res.status === 500) c.header("x-should-retry", "false");
  c.header("location", `/v1/predictions/${id}`);
});

/**
 * Resolves the model before the rest of the body is validated, as clients of the convention expect:
 * an unknown model is a 404 even if other fields are wrong. The route reports a missing model.
 */
export const resolveTarget = (call: OpenAiCall) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const body: unknown = await c.req.json().catch(() => undefined);
    const named = z.object({ model: openAiModelName }).safeParse(body).data;
    if (named) {
      c.set("target", await findCallable(c.var.services, c.var.caller, named.model, call));
    }
    await next();
  });

/** Returns the fields of a call that do not come from its body. */
export function callIn(
  c: Context<AppEnv>,
  { "idempotency-key": idempotencyKey }: { "idempotency-key"?: string | undefined },
): Omit<Call, "call" | "body" | "webhook"> {
  const { target, inlineFiles: sent, sentBody: source, releaseBody: onInputSent } = c.var;
  return { target, origin: new URL(c.req.url).origin, idempotencyKey, sent, source, onInputSent };
}

/**
 * Begins the call of a request. Its body may have megabytes, and the call may wait for minutes: routes read the
 * body from the request in the function that begins the call, so that no closure holds it meanwhile.
 */
export async function begin(
  c: Context<AppEnv>,
  call: OpenAiCall,
  body: Call["body"],
  webhook: Call["webhook"],
  headers: Parameters<typeof callIn>[1],
  more: Pick<Call, "input" | "isOwnInput" | "streams"> = {},
): Promise<BegunCall> {
  const { services, caller } = c.var;
  const order = { call, body, webhook, ...callIn(c, headers), ...more };
  const begun = await beginCall(services, caller, order);
  c.set("predictionId", begun.id);
  return { ...begun, request: askedOf(begun.request) };
}

/** Names the prediction and what it left out, for the headers of the response. */
export function noteBegun<Begun extends OmittingCall>(c: Context<AppEnv>, begun: Begun): Begun {
  c.set("predictionId", begun.id);
  c.set("omittedTools", begun.omittedTools);
  c.set("omittedContent", begun.omittedContent);
  return begun;
}

/** Waits for the end of a call, and notes its cost and who answered for the headers of the response. @throws as waitForCall */
export async function waitForEnd(
  c: Context<AppEnv>,
  begun: BegunCall,
  parse?: ParseLog,
): Promise<EndedCall> {
  const call = await waitForCall(c.var.services, begun, parse);
  c.set("cost", call.prediction.cost?.amount);
  c.set("answeredBy", answererOf(call.prediction));
  return call;
}

interface OmittingCall {
  id: string;
  omittedTools: string[];
  omittedContent: string[];
}
