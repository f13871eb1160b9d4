/** The status of the deployment is for operators, or for everybody where STATUS is "public". */
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import { requireOperator } from "./authentication.ts";
import { limitAddress } from "./rate-limit.ts";

export const requireStatusReader = createMiddleware<AppEnv>(async (c, next) => {
  if (!c.var.services.settings.alerts.isStatusPublic) return requireOperator(c, next);
  await limitAddress(c);
  return next();
});
