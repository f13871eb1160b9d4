/** A webhook delivery that its receiver refused, on the pages of its account. */
import { expect } from "vitest";
import { newDashboardUser } from "./dashboard-users.ts";
import { newEndpoint } from "./endpoints.ts";
import { eventually } from "./eventually.ts";
import { shortenTimers } from "./hold-timers.ts";
import { addressOf, freshPath, script } from "./receiver.ts";
import { newRun } from "./route-parameters.ts";

export const LIST = "/account/webhooks/deliveries";

/** A user whose endpoint refused its first delivery, and whose prediction's own webhook was delivered. */
export async function withRefusal() {
  // A prediction gathers what it tells its account about deliveries (objects/prediction/webhooks.ts).
  shortenTimers(1_000);
  const person = await newDashboardUser();
  const path = freshPath();
  const refusal = { status: 503, body: "no <b>room</b>" };
  await script(path, refusal, { status: 200, body: "thanks" });
  const url = `${addressOf(path)}?key=hunter2`;
  const endpoint = await newEndpoint(person.client, { url, events: ["completed"] });
  const { prediction_id: id = "" } = await newRun(person);
  await person.client.cancel(id);
  const { html } = await eventually(async () => {
    const page = await person.visitor.look(LIST);
    expect(page.html).toContain("responded with status 503");
    expect(page.html).toContain("succeeded");
    return page;
  });
  const [, event = ""] = new RegExp(`value="(evt_\\S+) ${endpoint.id}"`).exec(html) ?? [];
  return { ...person, path, endpoint, id, html, event };
}
