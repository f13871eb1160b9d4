/** `/status`: for operators, or for everybody where STATUS is "public". */
import { createMiddleware } from "hono/factory";
import { limitAddress } from "../../middleware/rate-limit.ts";
import { readStatus, STATUS_SECONDS } from "../../services/status.ts";
import { requireOperator } from "../access.ts";
import { type Dashboard, type PageContext, pages } from "../context.ts";
import { StatusPage } from "./page.tsx";

export const STATUS_PAGE = "/status";

async function showStatus(c: PageContext): Promise<Response> {
  const { services, assets } = c.var;
  const page = <StatusPage report={await readStatus(services)} assets={assets} />;
  return c.html(`<!DOCTYPE html>${page}`);
}

/** The public page comes before all that reads a session: it works while D1 does not, and costs no look-up. */
export const publicStatus = createMiddleware<Dashboard>(async (c, next) => {
  if (!c.var.services.settings.alerts.isStatusPublic) return next();
  await limitAddress(c);
  c.header("cache-control", `public, max-age=${STATUS_SECONDS}`);
  return showStatus(c);
});

export const statusPages = pages().get(STATUS_PAGE, requireOperator, showStatus);
