/** /v1/audit_events: the audit log of the caller's account, and of the deployment for operators. */
import { createRoute } from "@hono/zod-openapi";
import type { Context, TypedResponse } from "hono";
import type { AppEnv } from "../context.ts";
import { problemLine } from "../errors/errors.ts";
import {
  operatorEndedWords,
  requireOperator,
  requireScope,
  tokenEndedWords,
} from "../middleware/authentication.ts";
import { limitExport, watched } from "../middleware/concurrent-requests.ts";
import {
  type AuditExportLine,
  auditEvent,
  auditExportLine,
  auditFilter,
  auditQuery,
  auditVerification,
  operatorAuditFilter,
  operatorAuditQuery,
} from "../protocol/audit.ts";
import { pageOf } from "../protocol/common.ts";
import { requireAccountAccess } from "../services/access/access.ts";
import { recordRead } from "../services/audit/record.ts";
import {
  accountIdOf,
  exportTrail,
  listTrail,
  type Trail,
  type TrailFilter,
  verifyTrail,
} from "../services/audit/trail.ts";
import { errorResponses, jsonResponse } from "./responses.ts";
import { pageRequest, router } from "./router.ts";

const account = { tags: ["Audit log"], middleware: requireScope("read") };
const deployment = { tags: ["Operator"], middleware: requireOperator };

const lines = {
  200: {
    description: "JSON Lines",
    content: { "application/jsonl": { schema: auditExportLine } },
  },
  ...errorResponses,
};

const list = createRoute({
  ...account,
  method: "get",
  path: "/audit_events",
  operationId: "listAuditEvents",
  summary: "List the audit log",
  description:
    "Who changed what in your account, and which operator looked it up, newest first. For an organization, requires an admin. A page with a filter can be short, or empty: request `next_url` until it is null.",
  request: { query: auditQuery },
  responses: { 200: jsonResponse("Newest first", pageOf(auditEvent)), ...errorResponses },
});

const verify = createRoute({
  ...account,
  method: "get",
  path: "/audit_events/verify",
  operationId: "verifyAuditEvents",
  summary: "Verify the audit log",
  description:
    "Checks the hash of every entry, and the signature of the newest. Each entry has the hash of the one before, so a change of any is found.",
  responses: { 200: jsonResponse("The result", auditVerification), ...errorResponses },
});

const exported = createRoute({
  ...account,
  method: "get",
  path: "/audit_events/export",
  operationId: "exportAuditEvents",
  summary: "Export the audit log",
  description:
    "All entries as JSON Lines, newest first, with the same filters as the list. A complete response ends with a line of the type `end`.",
  request: { query: auditFilter },
  responses: lines,
});

const listAll = createRoute({
  ...deployment,
  method: "get",
  path: "/operator/audit_events",
  operationId: "listAllAuditEvents",
  summary: "List the audit log of all accounts",
  description:
    "Also has what concerns no account, such as hardware and operators. Newest first. A page with a filter can be short, or empty: request `next_url` until it is null.",
  request: { query: operatorAuditQuery },
  responses: { 200: jsonResponse("Newest first", pageOf(auditEvent)), ...errorResponses },
});

const verifyAll = createRoute({
  ...deployment,
  method: "get",
  path: "/operator/audit_events/verify",
  operationId: "verifyAllAuditEvents",
  summary: "Verify the audit log of all accounts",
  description: "Checks the chain of the deployment, which has the entries of all accounts.",
  responses: { 200: jsonResponse("The result", auditVerification), ...errorResponses },
});

const exportedAll = createRoute({
  ...deployment,
  method: "get",
  path: "/operator/audit_events/export",
  operationId: "exportAllAuditEvents",
  summary: "Export the audit log of all accounts",
  description:
    "All entries as JSON Lines, newest first, with the same filters as the list. A complete response ends with a line of the type `end`.",
  request: { query: operatorAuditFilter },
  responses: lines,
});

export const auditRoutes = router()
  .openapi(list, async (c) => {
    const { cursor, page_size, ...filter } = c.req.valid("query");
    const page = pageRequest(c, { cursor, page_size });
    return c.json(await listTrail(c.var.services, await trailOf(c), filter, page), 200);
  })
  .openapi(verify, async (c) => c.json(await verifyTrail(c.var.services, await trailOf(c)), 200))
  .openapi(exported, async (c) => exportAs(c, await trailOf(c), c.req.valid("query")))
  .openapi(listAll, async (c) => {
    const { cursor, page_size, account: name, ...filter } = c.req.valid("query");
    const account_id = await accountIdOf(c.var.services, name);
    const page = pageRequest(c, { cursor, page_size });
    return c.json(
      await listTrail(c.var.services, "deployment", { ...filter, account_id }, page),
      200,
    );
  })
  .openapi(verifyAll, async (c) => c.json(await verifyTrail(c.var.services, "deployment"), 200))
  .openapi(exportedAll, async (c) => {
    const { account: name, ...filter } = c.req.valid("query");
    return exportAs(c, "deployment", {
      ...filter,
      account_id: await accountIdOf(c.var.services, name),
    });
  });

/** The log of the caller's account. @throws ProblemError forbidden */
async function trailOf({ var: { services, caller } }: Context<AppEnv>): Promise<Trail> {
  await requireAccountAccess(services, caller, "The audit log", "admin");
  return { account_id: caller.user_id };
}

async function exportAs(c: Context<AppEnv>, trail: Trail, filter: TrailFilter) {
  const { services } = c.var;
  const account_id = trail === "deployment" ? null : trail.account_id;
  const open = async () => {
    await recordRead(services, { action: "audit.exported", account_id, targets: [] });
    return exportTrail(services, trail, filter);
  };
  const { body } =
    trail === "deployment"
      ? await watched(c, await open(), () => operatorEndedWords(c, problemLine))
      : await limitExport(c, open, () => tokenEndedWords(c, problemLine));
  return auditExportResponse(body);
}

/** Returns the export as a download. */
export function auditExportResponse(body: ReadableStream<Uint8Array>) {
  const response: Response = new Response(body, {
    headers: {
      "content-type": "application/jsonl",
      "content-disposition": 'attachment; filename="auspex-audit.jsonl"',
      "cache-control": "no-store",
    },
  });
  return response as Response & TypedResponse<AuditExportLine, 200, "json">;
}
