/** Alerts for operators: listing and silencing them. */
import { describedAlert } from "../../domain/alerts/messages.ts";
import { ruleOf } from "../../domain/alerts/rules.ts";
import { notFound } from "../../errors/errors.ts";
import { currentRequest } from "../../lib/current-request.ts";
import type { AlertView } from "../../protocol/alert.ts";
import { findAlert, listShown, type ShownAlert, setSilence } from "../../storage/alerts/alerts.ts";
import { auditEntry } from "../audit/record.ts";
import type { Services } from "../services.ts";

const MAX_ENDED = 100;
const HOUR_MS = 3_600_000;

export async function listAlerts(services: Services): Promise<AlertView[]> {
  const rows = await listShown(services.db, Date.now(), { ended: MAX_ENDED });
  return rows.map((row) => present(services, row));
}

/**
 * Silences an alert that holds for some hours. 0 ends its silence.
 * @throws ProblemError not_found
 */
export async function silenceAlert(
  services: Services,
  id: string,
  hours: number,
): Promise<AlertView> {
  const { db } = services;
  const row = await findAlert(db, id);
  if (!row) throw unknownAlert(id);
  const silenced_until = hours === 0 ? null : Date.now() + hours * HOUR_MS;
  const silenced_by = hours === 0 ? null : currentRequest()?.sender?.id || null;
  const entry = auditEntry({
    action: "alert.silenced",
    account_id: null,
    targets: [{ type: "alert", id, name: `${ruleOf(row.rule).title}: ${row.name}` }],
    before: { silenced_until: timeOrNull(row.silenced_until) },
    after: { silenced_until: timeOrNull(silenced_until) },
  });
  if (!(await setSilence(db, id, { silenced_until, silenced_by }, entry))) throw unknownAlert(id);
  const silenced = await findAlert(db, id);
  if (!silenced) throw unknownAlert(id);
  return present(services, silenced);
}

const unknownAlert = (id: string) => notFound(`An alert '${id}' that holds`);

const timeOrNull = (at: number | null) => (at === null ? null : new Date(at).toISOString());

const present = ({ settings }: Services, row: ShownAlert): AlertView => ({
  ...describedAlert(row, settings.alerts.origin ?? ""),
  notified_at: timeOrNull(row.notified_at),
  error: row.error,
  silenced_until: timeOrNull(row.silenced_until),
  silenced_by: row.silencer,
});
