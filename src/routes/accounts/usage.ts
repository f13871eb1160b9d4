/** /v1/usage and /v1/operator/usage: usage of the caller's account and of all accounts, grouped as the caller asks. */
import { createRoute, z } from "@hono/zod-openapi";
import type { Context, TypedResponse } from "hono";
import type { AppEnv } from "../../context.ts";
import { requireOperator, requireScope } from "../../middleware/authentication.ts";
import {
  deploymentUsage,
  deploymentUsageQuery,
  groupedUsage,
  usageQuery,
} from "../../protocol/usage.ts";
import { deploymentCsv, getDeploymentUsage } from "../../services/accounts/deployment-usage.ts";
import { getUsage, usageCsv } from "../../services/accounts/usage-groups.ts";
import { errorResponses } from "../responses.ts";
import { router } from "../router.ts";

const DESCRIPTION =
  "Predictions are counted on the day (UTC) that they end. A report has at most 400 days and 10,000 rows.";

const get = createRoute({
  method: "get",
  path: "/usage",
  operationId: "getUsage",
  tags: ["Users"],
  summary: "Get usage by model, day, token and more",
  description: `${DESCRIPTION} In an organization, developers get the usage of all members, and members their own. Not with a token limited to some models.`,
  middleware: requireScope("read"),
  request: { query: usageQuery },
  responses: {
    200: {
      description: "The usage, or with `format=csv` a CSV file with a line for each group",
      content: {
        "application/json": { schema: groupedUsage },
        "text/csv": { schema: z.string() },
      },
    },
    ...errorResponses,
  },
});

const getAll = createRoute({
  method: "get",
  path: "/operator/usage",
  operationId: "getDeploymentUsage",
  tags: ["Operator"],
  summary: "Get the usage of all accounts",
  description: `${DESCRIPTION} Accounts report their usage within some 5 minutes.`,
  middleware: requireOperator,
  request: { query: deploymentUsageQuery },
  responses: {
    200: {
      description: "The usage, or with `format=csv` a CSV file with a line for each group",
      content: {
        "application/json": { schema: deploymentUsage },
        "text/csv": { schema: z.string() },
      },
    },
    ...errorResponses,
  },
});

export const usageRoutes = router()
  .openapi(get, async (c) => {
    const { format, ...query } = c.req.valid("query");
    const usage = await getUsage(c.var.services, c.var.caller, query);
    return asksForCsv(c, format) ? csvResponse(usage, usageCsv(usage)) : c.json(usage, 200);
  })
  .openapi(getAll, async (c) => {
    const { format, ...query } = c.req.valid("query");
    const usage = await getDeploymentUsage(c.var.services, query);
    return asksForCsv(c, format) ? csvResponse(usage, deploymentCsv(usage)) : c.json(usage, 200);
  });

/** Whether the request asks for CSV. The query counts more than the header. */
const asksForCsv = (c: Context<AppEnv>, format: "json" | "csv" | undefined): boolean =>
  format === undefined ? (c.req.header("accept") ?? "").includes("text/csv") : format === "csv";

export function csvResponse<Report extends { from: string; to: string }>(
  { from, to }: Report,
  text: string,
) {
  const response: Response = new Response(text, {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="auspex-usage-${from}-${to}.csv"`,
      "cache-control": "no-store",
    },
  });
  return response as Response & TypedResponse<Report, 200, "json">;
}
