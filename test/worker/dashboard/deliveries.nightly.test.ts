/** More of the deliveries of an account: those that cannot be sent, and as many as one redelivery takes. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MOST_AT_ONCE } from "../../../src/services/webhooks/deliveries.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { changeEndpoint } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { accountOf } from "../support/objects.ts";
import { exchanged, received } from "../support/receiver.ts";
import { LIST, withRefusal } from "../support/refused-delivery.ts";
import { passes, startClock, stopClock } from "../support/time.ts";

// A refused delivery would be sent again after 5 seconds.
beforeEach(stopClock);
afterEach(startClock);

describe("the list", () => {
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
