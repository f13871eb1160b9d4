/** The audit log: `/account/audit` of an account, and `/audit` of the whole deployment for operators. */
import { limitExport, watched } from "../../middleware/concurrent-requests.ts";
import { type AuditFilter, auditFilter } from "../../protocol/audit.ts";
import { auditExportResponse } from "../../routes/audit.ts";
import { parse } from "../../routes/router.ts";
import { recordRead } from "../../services/audit/record.ts";
import {
  accountIdOf,
  exportTrail,
  failedSignIns,
  listTrail,
  type Trail,
  verifyTrail,
} from "../../services/audit/trail.ts";
import {
  operatorEndedLine,
  requireOperator,
  requireRole,
  sessionEndedLine,
  viewerOf,
} from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { AuditPage, type AuditValues } from "./page.tsx";

const OWN = "/account/audit";
const ALL = "/audit";
const PAGE_SIZE = 50;
const DAY_MS = 86_400_000;

const admins = requireRole("admin", "The audit log");

export const auditPages = pages()
  .get(OWN, admins, (c) => show(c, trailOf(c)))
  .get(`${OWN}/export`, admins, async (c) => {
    const { services } = c.var;
    const { account } = viewerOf(c);
    const filter = filterOf(valuesOf(c));
    const open = async () => {
      await recordRead(services, { action: "audit.exported", account_id: account.id, targets: [] });
      return exportTrail(services, trailOf(c), filter);
    };
    const { body } = await limitExport(c, open, () => sessionEndedLine(c));
    return auditExportResponse(body);
  });

export const operatorAuditPages = pages()
  .get(ALL, requireOperator, (c) => show(c, "deployment"))
  .get(`${ALL}/export`, requireOperator, async (c) => {
    const { services } = c.var;
    const values = valuesOf(c);
    const account_id = await accountIdOf(services, values.account || undefined);
    await recordRead(services, { action: "audit.exported", account_id: null, targets: [] });
    const stream = exportTrail(services, "deployment", { ...filterOf(values), account_id });
    const { body } = await watched(c, stream, () => operatorEndedLine(c));
    return auditExportResponse(body);
  });

const trailOf = (c: PageContext): Trail => ({ account_id: viewerOf(c).account.id });

async function show(c: PageContext, trail: Trail) {
  const { services } = c.var;
  const values = valuesOf(c);
  const account_id = await accountIdOf(services, values.account || undefined);
  const url = new URL(c.req.url);
  url.searchParams.delete("verify");
  const request = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: url.href };
  const [page, verification, failures] = await Promise.all([
    listTrail(services, trail, { ...filterOf(values), account_id }, request),
    c.req.query("verify") === undefined ? undefined : verifyTrail(services, trail),
    trail === "deployment" ? failedSignIns(services) : [],
  ]);
  const address = trail === "deployment" ? ALL : OWN;
  return c.render(
    <AuditPage
      address={address}
      values={values}
      page={page}
      verification={verification}
      failures={failures}
      exported={`${address}/export${url.search}`}
    />,
    { title: trail === "deployment" ? "Audit log of all accounts" : "Audit log" },
  );
}

/** Returns the fields of the form as they stand in the address. */
function valuesOf(c: PageContext): AuditValues {
  const value = (name: string) => (c.req.query(name) ?? "").trim();
  return {
    action: value("action"),
    actor: value("actor"),
    target: value("target"),
    from: value("from"),
    to: value("to"),
    account: value("account"),
  };
}

/** @throws ValidationFailure */
function filterOf({ action, actor, target, from, to }: AuditValues): AuditFilter {
  const given = {
    action,
    actor,
    target,
    after: timeOf(from, 0),
    before: timeOf(to, DAY_MS),
  };
  const fields = Object.entries(given).filter(([, value]) => value !== "");
  return parse(auditFilter, Object.fromEntries(fields), "query");
}

/** A text that is no date stays as it is, and the filter refuses it. */
function timeOf(date: string, later: number): string {
  const at = Date.parse(date);
  return Number.isNaN(at) ? date : new Date(at + later).toISOString();
}
