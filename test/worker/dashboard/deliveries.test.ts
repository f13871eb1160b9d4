/** Webhook deliveries of an account: the list, single events, and redelivery of many. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { codes, failuresOf } from "../../../src/dashboard/webhooks/delivery.tsx";
import { MOST_AT_ONCE } from "../../../src/services/webhooks/deliveries.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { changeEndpoint, newEndpoint } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { newRunnable } from "../support/examples.ts";
import { accountOf } from "../support/objects.ts";
import { addressOf, exchanged, freshPath, received, script } from "../support/receiver.ts";
import { newRun } from "../support/route-parameters.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { settled } from "../support/webhooks.ts";

const LIST = "/account/webhooks/deliveries";

// A refused delivery would be sent again after 5 seconds.
beforeEach(stopClock);
afterEach(startClock);

/** A user whose endpoint refused its first delivery, and whose prediction's own webhook was delivered. */
async function withRefusal() {
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

describe("the list", () => {
  it("the list has delivered and failed deliveries, each with its receiver and its model", async () => {
    const { visitor, endpoint, id, html } = await withRefusal();
    expect(html).toContain("retrying");
    expect(html).toContain("Next attempt");
    expect(html).toContain(`/account/webhooks/${endpoint.id}`);
    expect(html).toContain(`/predictions/${id}`);
    const failed = (await visitor.look(`${LIST}?which=failed`)).html;
    expect(failed.match(/name="chosen"/g)).toHaveLength(1);
    const arrived = (await visitor.look(`${LIST}?which=delivered`)).html;
    expect(arrived.match(/name="chosen"/g)).toHaveLength(1);
    expect(arrived).not.toContain("responded with status 503");
    const toEndpoint = (await visitor.look(`${LIST}?to=${endpoint.id}`)).html;
    expect(toEndpoint.match(/name="chosen"/g)).toHaveLength(1);
    expect((await visitor.look(`${LIST}?to=prediction&which=failed`)).html).toContain(
      "No deliveries match",
    );
  });

  it("the list shows deliveries of a deleted endpoint as abandoned, and later why they failed", async () => {
    const { visitor, client, endpoint, id, event } = await withRefusal();
    await client.ok("DELETE", `/v1/webhook-endpoints/${endpoint.id}`);
    const pages = [LIST, `/predictions/${id}/webhooks/${event}`];
    for (const page of pages) {
      const { html } = await visitor.look(page);
      expect(html).toContain("abandoned");
      expect(html).not.toContain("Next try");
      expect(html).not.toContain("retrying");
    }
    await passes(7, id);
    await eventually(async () => {
      for (const page of pages) {
        const { html } = await visitor.look(page);
        expect(html).toContain("the endpoint has been deleted");
        expect(html).not.toContain("abandoned");
      }
    });
  });
});

describe("chosen deliveries", () => {
  it("a chosen delivery is sent again, with the same ID", async () => {
    const { visitor, path, endpoint, event } = await withRefusal();
    await visitor.send(`${LIST}?which=failed`, {
      chosen: [`${event} ${endpoint.id}`, "nonsense", `evt_1 ${endpoint.id}`],
    });
    expect((await visitor.look(LIST)).html).toContain("Redelivering 1 of 1");
    const [first, second] = await exchanged(path, 2);
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    await eventually(async () => {
      const { html } = await visitor.look(`${LIST}?which=delivered&to=${endpoint.id}`);
      expect(html).toContain("2 attempts");
    });
  });

  it("a chosen delivery is not sent to an endpoint that is disabled", async () => {
    const { visitor, client, path, endpoint, event } = await withRefusal();
    await changeEndpoint(client, endpoint.id, { enabled: false });
    await visitor.send(LIST, { chosen: `${event} ${endpoint.id}` });
    const { html } = await visitor.look(LIST);
    expect(html).toContain("1 skipped: endpoint disabled or deleted.");
    expect(await received(path)).toHaveLength(1);
  });

  it("an empty choice is refused", async () => {
    const { visitor } = await newDashboardUser();
    await visitor.look(LIST);
    await visitor.send(LIST);
    expect((await visitor.look(LIST)).html).toContain("Select the deliveries to redeliver.");
  });
});

describe("all failed deliveries", () => {
  it("the failed deliveries under the current filter are sent again, and no others", async () => {
    const { visitor, path, endpoint } = await withRefusal();
    const { html } = await visitor.look(`${LIST}?which=failed`);
    expect(html).toContain('name="all" value="failed"');
    expect((await visitor.look(`${LIST}?which=delivered`)).html).not.toContain('name="all"');
    const others = await visitor.send(`${LIST}?to=prediction`, { all: "failed" });
    expect(others.location).toBe(`${LIST}?to=prediction`);
    expect((await visitor.look(LIST)).html).toContain("No failed deliveries.");
    await visitor.send(`${LIST}?to=${endpoint.id}`, { all: "failed" });
    expect((await visitor.look(LIST)).html).toContain("Redelivering 1 of 1.");
    expect(await exchanged(path, 2)).toHaveLength(2);
  });

  /** Adds failed deliveries of predictions older than the one whose delivery is tried again. */
  async function withGivenUp(count: number, how: { isListed: boolean }) {
    const { visitor, user_id, path, endpoint } = await withRefusal();
    const account = (await accountOf(user_id)) ?? expect.fail("it has no object");
    await runInDurableObject(account, (_, { storage: { sql } }) => {
      sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO deliveries (prediction_id, sequence, endpoint_id, event, at, url, state, attempts, status, error, next_at, told_at)
        SELECT '01900000-0000-7000-8000-' || printf('%012d', i), 1, ?, 'completed', 0, NULL, 'failed', 9, 500, 'no', NULL, 0 FROM n`,
        count,
        endpoint.id,
      );
      if (!how.isListed) return;
      sql.exec(
        `INSERT INTO predictions (id, object_id, model_id, model_owner, model_name, version_number, stream, status, created_at, updated_at, data_removed, revision)
        SELECT d.prediction_id, ?, '', 'ada', 'story', 1, 0, 'succeeded', 0, 0, 0, 1
        FROM deliveries d WHERE d.state = 'failed'`,
        // The object has no data: its prediction has lost it.
        env.PREDICTION.newUniqueId().toString(),
      );
    });
    return { visitor, path };
  }

  it("a redelivery of all is bounded, begins with failed deliveries, and shows how many are left", async () => {
    const { visitor, path } = await withGivenUp(MOST_AT_ONCE, { isListed: true });
    await visitor.send(LIST, { all: "failed" });
    const { html } = await visitor.look(LIST);
    expect(html).toContain(`Redelivering 0 of ${MOST_AT_ONCE + 1}.`);
    expect(html).toContain(`${MOST_AT_ONCE} skipped: prediction data removed.`);
    expect(html).toContain("1 remaining: select Redeliver all failed again.");
    expect(await received(path)).toHaveLength(1);
  });

  it("a redelivery of all skips deliveries that cannot be sent any more, and shows their number", async () => {
    const { visitor, path } = await withGivenUp(MOST_AT_ONCE, { isListed: false });
    await visitor.send(LIST, { all: "failed" });
    const { html } = await visitor.look(LIST);
    expect(html).toContain(`Redelivering 1 of ${MOST_AT_ONCE + 1}.`);
    expect(html).toContain(`${MOST_AT_ONCE} skipped: prediction data removed.`);
    expect(await exchanged(path, 2)).toHaveLength(2);
  });
});

describe("the page of an event", () => {
  it("an event's page masks secrets, as the prediction's page does", async () => {
    const person = await newDashboardUser();
    await newEndpoint(person.client, { url: addressOf(freshPath()), events: ["completed"] });
    const key = { type: "string", format: "password" };
    const properties = { key, prompt: { type: "string" } };
    const { run } = await newRunnable(person, { schema: { type: "object", properties } });
    const id = await run({ key: "sk-hidden", prompt: "a cat" }, () => "out");
    const [event] = await settled(person.client, id, "delivered");
    const { html } = await person.visitor.look(`/predictions/${id}/webhooks/${event?.id}`);
    expect(html).not.toContain("sk-hidden");
    expect(html).toContain("&quot;prompt&quot;: &quot;a cat&quot;");
    expect(html).toContain("&quot;output&quot;: &quot;out&quot;");
  });

  it("an event's page has the posted body, and the receiver's answer as text", async () => {
    const { visitor, client, id, event } = await withRefusal();
    const page = `/predictions/${id}/webhooks/${event}`;
    const { html } = await visitor.look(page);
    expect(html).toContain("no &lt;b&gt;room&lt;/b&gt;");
    expect(html).toContain(`&quot;id&quot;: &quot;${event}&quot;`);
    expect(html).toContain("&quot;status&quot;: &quot;canceled&quot;");
    expect(html).not.toContain("hunter2");
    await client.json("DELETE", `/v1/predictions/${id}`);
    const { html: removed } = await visitor.look(page);
    expect(removed).not.toContain("room");
    expect(removed).toContain("&quot;data_removed&quot;: true");
    expect((await visitor.look(`${page}0`)).status).toBe(404);
  });
});

const tried = (status: number | null, error: string | null = "failed") => ({
  at: "2026-11-27T09:00:00.000Z",
  status,
  duration_ms: 5,
  error,
  response: null,
});

test.each<[(number | null)[], string]>([
  [[500], "500"],
  [[500, 500], "500 twice"],
  [[500, 500, 500], "500 three times"],
  [[500, 500, 500, 500], "500 4 times"],
  [[500, null, null, 503], "500, no response twice, 503"],
])("the statuses %j are shown as %s", (statuses, text) => {
  expect(codes(statuses.map((status) => ({ status })))).toBe(text);
});

test("failures before the last success do not count, nor does a try under way", () => {
  const failed = tried(503);
  const underWay = { ...tried(null, null), duration_ms: null };
  expect(failuresOf([tried(500), tried(200, null), failed, underWay])).toEqual([failed]);
  expect(failuresOf([tried(500), tried(200, null)])).toEqual([]);
});
