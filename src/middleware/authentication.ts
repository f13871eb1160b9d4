/** Bearer tokens: of users, of runners, of the operator. */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { ProblemError } from "../errors.ts";
import type { Scope } from "../protocol/operator.ts";
import type { App } from "../routes/context.ts";
import { authenticate, authenticateOperator, authenticateRunner } from "../services/tokens.ts";

/** Lets in users whose token has one of the scopes. */
export const authenticated = (...scopes: [Scope, ...Scope[]]) =>
  createMiddleware<App>(async (c, next) => {
    const caller = await authenticate(c.var.services, bearer(c));
    if (!scopes.some((scope) => caller.scopes.includes(scope))) {
      throw new ProblemError(
        "forbidden",
        `This needs a token with the scope ${scopes.join(" or ")}.`,
      );
    }
    c.set("caller", caller);
    await next();
  });

/** Lets in everybody, but nobody with a bad token. */
export const anybody = createMiddleware<App>(async (c, next) => {
  if (c.req.header("authorization") !== undefined) {
    c.set("caller", await authenticate(c.var.services, bearer(c)));
  }
  await next();
});

export const runnersOnly = createMiddleware<App>(async (c, next) => {
  c.set("runner", await authenticateRunner(c.var.services, bearer(c)));
  await next();
});

export const operatorOnly = createMiddleware<App>(async (c, next) => {
  authenticateOperator(c.var.services, bearer(c));
  await next();
});

function bearer(c: Context): string {
  const [, token] = /^bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "") ?? [];
  if (token) return token;
  throw new ProblemError(
    "unauthenticated",
    "Send a token: 'Authorization: Bearer <ACCESS_TOKEN>'.",
  );
}
