/** A model with as many shares as it may have. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Collaborator } from "../../../src/protocol/organization.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { run } from "../support/accounts.ts";
import { pathOf, share } from "../support/organizations.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

describe("a share", () => {
  test("a model is shared with at most 100 accounts, whose levels can still be changed", async () => {
    const { client, model, user_id } = await newWorld();
    const friend = await newUser();
    await share(client, model, friend, "run");
    await run(
      `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 99)
        INSERT INTO users (id, username, name, avatar_url, created_at, updated_at)
        SELECT ?1 || n, ?1 || n, '', '', 0, 0 FROM n`,
      user_id,
    );
    await run(
      `INSERT INTO collaborators SELECT m.id, u.id, 'run', 0 FROM models m, users u
        WHERE m.owner_id = ?1 AND u.id > ?1 AND u.id GLOB ?1 || '*'`,
      user_id,
    );
    const refused = await share(client, model, await newUser(), "run");
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain("at most 100 accounts");
    expect((await share(client, model, friend, "write")).status).toBe(200);
    const first = await client.ok<Page<Collaborator>>("GET", `${pathOf(model)}?page_size=50`);
    const next = await client.ok<Page<Collaborator>>("GET", first.next_url ?? "");
    expect([first.items.length, next.items.length]).toEqual([50, 50]);
  });
});
