/** Authentication of readers of a prediction's events, also by a stream token. */
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import { isSignedToken } from "../domain/accounts/signed-token.ts";
import { ProblemError } from "../errors/errors.ts";
import { authenticateStream } from "../services/access/signed-tokens.ts";
import { requireScope } from "./authentication.ts";
import { limitAddress, limitRate } from "./rate-limit.ts";

const withAccessToken = requireScope("read", "predict");

/** Allows requests with a stream token in the query or in `Authorization`, besides those with an access token. */
export const allowStreamToken = createMiddleware<AppEnv>(async (c, next) => {
  const [, sent = ""] = /^bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "") ?? [];
  const token = c.req.query("token") ?? (isSignedToken(sent, "ause") ? sent : undefined);
  if (token === undefined) return withAccessToken(c, next);
  try {
    const id = c.req.param("prediction_id") ?? "";
    c.set("caller", await authenticateStream(c.var.services, token, id));
  } catch (error) {
    if (error instanceof ProblemError) await limitAddress(c);
    throw error;
  }
  await limitRate(c, "token", c.var.caller.token_id);
  await next();
});
