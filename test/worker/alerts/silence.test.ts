/** Alerts as operators see and silence them. */
import { expect, test } from "vitest";
import type { AlertView } from "../../../src/protocol/alert.ts";
import { newAlert } from "../support/alerts.ts";
import { pageAt } from "../support/catalogue.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { operator } from "../support/world.ts";

const shown = async (id: string) => {
  const { items } = await pageAt<AlertView>(operator, "/v1/operator/alerts?");
  return items.find((one) => one.id === id);
};
const silence = (id: string, hours: number) =>
  operator.fetch(`/v1/operator/alerts/${id}/silence`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ hours }),
  });

test("an alert is listed once it has held for two minutes, and says what to do", async () => {
  const [old, fresh] = [await newAlert(), await newAlert(Date.now() - 60_000)];
  expect(await shown(fresh)).toBeUndefined();
  expect(await shown(old)).toMatchObject({
    ...{ rule: "runner_lost", severity: "critical", title: "Runner lost", name: "rack-1" },
    ...{ url: "/docs/runners", ended_at: null, silenced_until: null, silenced_by: null },
  });
});

test("an operator silences an alert for some hours and ends the silence, and both are recorded", async () => {
  const id = await newAlert();
  const before = Date.now();
  const answer: AlertView = await (await silence(id, 24)).json();
  const until = Date.parse(answer.silenced_until ?? "");
  expect(until - before).toBeGreaterThanOrEqual(86_400_000);
  expect(await (await silence(id, 0)).json()).toMatchObject({ silenced_until: null });
  const path = `/v1/operator/audit_events?target=${id}`;
  const { items } = await pageAt<{ action: string; changes: object }>(operator, path);
  expect(items.map(({ action }) => action)).toEqual(["alert.silenced", "alert.silenced"]);
  expect(items.at(-1)?.changes).toEqual({
    before: { silenced_until: null },
    after: { silenced_until: answer.silenced_until },
  });
});

test("silences of other lengths, and of alerts that do not hold, are refused", async () => {
  const id = await newAlert();
  for (const hours of [-1, 0.5, 169]) expect((await silence(id, hours)).status).toBe(422);
  expect((await silence(crypto.randomUUID(), 1)).status).toBe(404);
});

test("the page of alerts names who silenced one, and shows the button that ends it", async () => {
  const id = await newAlert();
  const one = await newOperator();
  const page = async () => (await one.visitor.look("/alerts")).html;
  expect(await page()).toContain(`/alerts/${id}/silence`);
  await one.visitor.send(`/alerts/${id}/silence`, { hours: "168" });
  expect(await shown(id)).toMatchObject({ silenced_by: one.username });
  expect(await page()).toContain("End silence");
  const refused = await one.visitor.send(`/alerts/${id}/silence`, { hours: "12" });
  expect(refused.status).toBe(400);
});
