/** `/alerts`, for operators: the alerts that hold, their silences, and those that have ended. */
import { z } from "zod";
import { parse } from "../../routes/router.ts";
import { listAlerts, silenceAlert } from "../../services/alerts/alerts.ts";
import { alertSecrets } from "../../services/alerts/send-messages.ts";
import { requireOperator } from "../access.ts";
import { pages, redirectWithFlash } from "../context.ts";
import { readForm } from "../form.ts";
import { AlertsPage, SILENCES } from "./page.tsx";

const silence = z.object({
  hours: z.coerce.number().pipe(z.literal([0, ...SILENCES.map(([hours]) => hours)])),
});

export const alertPages = pages()
  .get("/alerts", requireOperator, async (c) => {
    const { services } = c.var;
    const { alerts, secretKeys } = services.settings;
    const [secret] = await alertSecrets(secretKeys.slice(0, 1));
    const receiver = { format: alerts.url === undefined ? undefined : alerts.format, secret };
    const all = await listAlerts(services);
    return c.render(<AlertsPage alerts={all} receiver={receiver} now={Date.now()} />, {
      title: "Alerts",
    });
  })
  .post("/alerts/:id/silence", requireOperator, async (c) => {
    const { hours } = parse(silence, Object.fromEntries(await readForm(c)), "body");
    await silenceAlert(c.var.services, c.req.param("id"), hours);
    return redirectWithFlash(c, hours === 0 ? "Silence ended." : "Alert silenced.", "/alerts");
  });
