/** Webhook deliveries of an account: the list, single events, and redelivery of many. */
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { codes, failuresOf } from "../../../src/dashboard/webhooks/delivery.tsx";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { newEndpoint } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { newRunnable } from "../support/examples.ts";
import { addressOf, exchanged, freshPath } from "../support/receiver.ts";
import { LIST, withRefusal } from "../support/refused-delivery.ts";
import { startClock, stopClock } from "../support/time.ts";
import { settled } from "../support/webhooks.ts";

// A refused delivery would be sent again after 5 seconds.
beforeEach(stopClock);
afterEach(startClock);

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
