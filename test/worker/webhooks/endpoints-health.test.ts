/** The health of endpoints in D1, written by isolates that do not know of each other. */

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Try } from "../../../src/domain/webhooks/health.ts";
import { database } from "../../../src/storage/database.ts";
import { getAccountFacts } from "../../../src/storage/webhooks/account-facts.ts";
import { getCachedEndpoint, recordOutcome } from "../../../src/storage/webhooks/endpoint-cache.ts";
import { findEndpoint, type WebhookEndpointRow } from "../../../src/storage/webhooks/endpoints.ts";
import {
  addSecret,
  changeEndpoint,
  getEndpoint,
  newEndpoint,
  WEBHOOK_ENDPOINTS,
} from "../support/endpoints.ts";
import { addressOf, freshPath } from "../support/receiver.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const DAY_S = 86_400;
const db = database(env.DB);

async function newOne() {
  const { client, user_id } = await newUser();
  const { id } = await newEndpoint(client);
  /** Returns the row as an isolate has just read it. */
  const asked = async (): Promise<WebhookEndpointRow> =>
    (await findEndpoint(db, id)) ?? expect.fail("it is not there");
  return { client, user_id, id, asked };
}

/** Returns an attempt that began just now. */
const tried = (changes: Partial<Try> = {}): Try => ({
  outcome: { status: 200, error: null },
  isLast: false,
  at: Date.now(),
  switchOffMs: 5 * DAY_S * 1_000,
  ...changes,
});
const failed = (changes: Partial<Try> = {}): Try =>
  tried({ outcome: { status: 500, error: "responded with status 500" }, ...changes });
const gone = () =>
  failed({
    outcome: { status: 410, error: "responded with status 410", final: true },
    isLast: true,
  });

const now = () => new Date().toISOString();

describe("attempts of one isolate", () => {
  test("ten thousand failures cause one write, and successes none", async () => {
    const { client, id } = await newOne();
    const known = (await getCachedEndpoint(db, id)) ?? expect.fail();
    const prepare = vi.spyOn(env.DB, "prepare");
    await Promise.all(Array.from({ length: 100 }, () => recordOutcome(db, known, tried())));
    expect(prepare).not.toHaveBeenCalled();
    const first = now();
    await Promise.all(
      Array.from({ length: 10_000 }, async () => {
        const one = (await getCachedEndpoint(db, id)) ?? expect.fail();
        await recordOutcome(db, one, failed());
      }),
    );
    expect(prepare).toHaveBeenCalledTimes(1);
    expect(await getEndpoint(client, id)).toMatchObject({
      enabled: true,
      failing_since: first,
      last_error: "responded with status 500",
      notice: null,
    });
  });

  test("a success after failures is written once", async () => {
    const { client, id } = await newOne();
    const known = (await getCachedEndpoint(db, id)) ?? expect.fail();
    const before = await getEndpoint(client, id);
    await recordOutcome(db, known, failed());
    advance(60);
    const prepare = vi.spyOn(env.DB, "prepare");
    for (let n = 0; n < 10; n++) await recordOutcome(db, known, tried());
    expect(prepare).toHaveBeenCalledTimes(1);
    expect(await getEndpoint(client, id)).toEqual(before);
  });

  test("successes cause one write in 10 s, and none if each attempt reads the endpoint again", async () => {
    const { id } = await newOne();
    const known = async () => (await getCachedEndpoint(db, id)) ?? expect.fail();
    await recordOutcome(db, await known(), tried());
    advance(1);
    const prepare = vi.spyOn(env.DB, "prepare");
    await Promise.all(
      Array.from({ length: 1_000 }, async () => recordOutcome(db, await known(), tried())),
    );
    expect(prepare).toHaveBeenCalledTimes(1);
    prepare.mockClear();
    for (let n = 0; n < 10; n++) {
      advance(11);
      await recordOutcome(db, await known(), tried());
    }
    // Each attempt reads the endpoint once.
    expect(prepare.mock.calls.filter(([sql]) => !sql.startsWith("select"))).toEqual([]);
    expect(prepare).toHaveBeenCalledTimes(10);
  });
});

describe("switching off", () => {
  test("an endpoint that has failed for 5 days is switched off when a delivery is given up", async () => {
    const { client, user_id, id } = await newOne();
    const row = async () => (await getCachedEndpoint(db, id)) ?? expect.fail();
    expect((await getAccountFacts(db, user_id)).endpoints).toHaveLength(1);
    const since = now();
    await recordOutcome(db, await row(), failed());
    advance(5 * DAY_S - 1);
    await recordOutcome(db, await row(), failed({ isLast: true }));
    expect(await getEndpoint(client, id)).toMatchObject({ enabled: true, failing_since: since });
    advance(1);
    await recordOutcome(db, await row(), failed());
    expect(await getEndpoint(client, id)).toMatchObject({ enabled: true });
    expect((await getAccountFacts(db, user_id)).endpoints).toHaveLength(1);
    await recordOutcome(db, await row(), failed({ isLast: true }));
    const off = await getEndpoint(client, id);
    expect(off).toMatchObject({ enabled: false, failing_since: since, updated_at: now() });
    expect(off.notice).toMatch(
      /^Disabled on \d{4}-\d\d-\d\d because every delivery since .*responded with status 500.*PATCH \{"enabled": true\}\.$/,
    );
    expect(await row()).toMatchObject({ enabled: false });
    expect((await getAccountFacts(db, user_id)).endpoints).toEqual([]);

    advance(1);
    expect(await changeEndpoint(client, id, { enabled: true })).toEqual({
      ...off,
      enabled: true,
      failing_since: null,
      last_error: null,
      notice: null,
      updated_at: now(),
    });
    expect((await getAccountFacts(db, user_id)).endpoints).toHaveLength(1);
  });

  test("an endpoint is switched off at once by a 410, also from an isolate with an old row", async () => {
    const { client, id, asked } = await newOne();
    const [one, other] = [await asked(), await asked()];
    await recordOutcome(db, one, failed());
    await recordOutcome(db, other, gone());
    expect(await getEndpoint(client, id)).toMatchObject({
      enabled: false,
      last_error: "responded with status 410",
      notice: expect.stringMatching(/status 410.*PATCH/),
    });
  });

  test("an endpoint that was switched off is not changed by a later success", async () => {
    const { client, id, asked } = await newOne();
    await recordOutcome(db, await asked(), failed());
    const late = await asked();
    await recordOutcome(db, await asked(), gone());
    const off = await getEndpoint(client, id);
    advance(1);
    await recordOutcome(db, late, tried());
    expect(await getEndpoint(client, id)).toEqual(off);
  });
});

test("a new URL resets the endpoint's health, and the same URL does not", async () => {
  const { client, id, asked } = await newOne();
  await recordOutcome(db, await asked(), failed());
  const failing = await getEndpoint(client, id);
  expect(await changeEndpoint(client, id, { url: failing.url })).toMatchObject({
    failing_since: failing.failing_since,
    last_error: failing.last_error,
  });
  const url = addressOf(freshPath());
  const updated_at = expect.any(String);
  const fresh = { ...failing, url, failing_since: null, last_error: null, updated_at };
  expect(await changeEndpoint(client, id, { url })).toEqual(fresh);
});

describe("an isolate with an old row", () => {
  test("failing_since is the first failure of all isolates", async () => {
    const { client, id, asked } = await newOne();
    const isolates = await Promise.all(Array.from({ length: 20 }, asked));
    const first = now();
    await recordOutcome(db, isolates[0] ?? expect.fail(), failed());
    advance(3);
    await Promise.all(isolates.slice(1).map((row) => recordOutcome(db, row, failed())));
    expect(await getEndpoint(client, id)).toMatchObject({ failing_since: first });
  });

  test("an isolate with an old row reads the endpoint again after its write did not apply", async () => {
    const { id, asked } = await newOne();
    const known = (await getCachedEndpoint(db, id)) ?? expect.fail();
    const first = Date.now();
    await recordOutcome(db, await asked(), failed());
    advance(3);
    await recordOutcome(db, known, failed());
    expect(await getCachedEndpoint(db, id)).toMatchObject({ failing_since: first });
  });

  test("an isolate with an old row does not switch off an endpoint that has worked meanwhile", async () => {
    const { client, id, asked } = await newOne();
    await recordOutcome(db, await asked(), failed());
    advance(5 * DAY_S);
    const stale = await asked();
    await recordOutcome(db, await asked(), tried());
    advance(1);
    await recordOutcome(db, await asked(), failed());
    await recordOutcome(db, stale, failed({ isLast: true }));
    expect(await getEndpoint(client, id)).toMatchObject({
      enabled: true,
      failing_since: now(),
      notice: null,
    });
  });

  test("an earlier success does not end a time of failures that began later", async () => {
    const { client, id, asked } = await newOne();
    await recordOutcome(db, await asked(), failed());
    advance(1);
    const stale = await asked();
    const success = tried();
    await recordOutcome(db, await asked(), tried());
    advance(1);
    const since = now();
    await recordOutcome(db, await asked(), failed());
    await recordOutcome(db, stale, success);
    expect(await getEndpoint(client, id)).toMatchObject({ failing_since: since });
  });

  test.each<[string, (of: Awaited<ReturnType<typeof newOne>>) => Promise<unknown>]>([
    ["switched on", ({ client, id }) => changeEndpoint(client, id, { enabled: true })],
    ["moved", ({ client, id }) => changeEndpoint(client, id, { url: addressOf(freshPath()) })],
    ["given a secret", ({ client, id }) => addSecret(client, id)],
  ])(
    "an isolate's earlier failures do not change an endpoint that was %s since",
    async (_, change) => {
      const one = await newOne();
      const [known, other] = [await one.asked(), await one.asked()];
      const early = [failed(), gone()] as const;
      await change(one);
      const after = await getEndpoint(one.client, one.id);
      await recordOutcome(db, known, early[0]);
      await recordOutcome(db, other, early[1]);
      // Attempts of other isolates still use the old row for up to 10 s after a change.
      advance(5);
      await recordOutcome(db, { ...known, failing_since: null }, failed());
      await recordOutcome(db, { ...other, enabled: true }, gone());
      expect(await getEndpoint(one.client, one.id)).toEqual(after);
      await recordOutcome(db, await one.asked(), failed());
      expect(await getEndpoint(one.client, one.id)).toMatchObject({ failing_since: now() });
    },
  );

  test("a success at the old URL does not change an endpoint that was moved and fails since", async () => {
    const { client, id, asked } = await newOne();
    const known = (await getCachedEndpoint(db, id)) ?? expect.fail();
    await env.DB.prepare("UPDATE webhook_endpoints SET updated_at = updated_at + 1 WHERE id = ?")
      .bind(id)
      .run();
    await recordOutcome(db, await asked(), failed());
    const failing = await getEndpoint(client, id);
    advance(1);
    await recordOutcome(db, known, tried());
    expect(await getEndpoint(client, id)).toEqual(failing);
  });

  test("an isolate's success ends the failures that another isolate has noted", async () => {
    const { client, id, asked } = await newOne();
    const known = (await getCachedEndpoint(db, id)) ?? expect.fail();
    await recordOutcome(db, await asked(), failed());
    advance(5);
    await recordOutcome(db, known, tried());
    expect(await getEndpoint(client, id)).toMatchObject({ failing_since: null, last_error: null });
    advance(6 * DAY_S);
    await recordOutcome(db, await asked(), failed({ isLast: true }));
    expect(await getEndpoint(client, id)).toMatchObject({ enabled: true, failing_since: now() });
  });

  test("an outcome of a deleted endpoint is not written", async () => {
    const { client, id, asked } = await newOne();
    const known = await asked();
    await client.ok("DELETE", `${WEBHOOK_ENDPOINTS}/${id}`);
    await recordOutcome(db, known, gone());
    expect(await findEndpoint(db, id)).toBeUndefined();
  });
});

test("a change by another isolate is known after 10 s", async () => {
  const { user_id, id } = await newOne();
  expect(await getCachedEndpoint(db, id)).toMatchObject({ enabled: true });
  expect((await getAccountFacts(db, user_id)).endpoints).toHaveLength(1);
  await env.DB.prepare("UPDATE webhook_endpoints SET enabled = 0 WHERE id = ?").bind(id).run();
  advance(9.9);
  expect(await getCachedEndpoint(db, id)).toMatchObject({ enabled: true });
  advance(0.2);
  expect(await getCachedEndpoint(db, id)).toMatchObject({ enabled: false });
  expect((await getAccountFacts(db, user_id)).endpoints).toEqual([]);
});

test("an account without endpoints is cached as well", async () => {
  const { user_id } = await newUser();
  (await getAccountFacts(db, user_id)).endpoints;
  const prepare = vi.spyOn(env.DB, "prepare");
  expect((await getAccountFacts(db, user_id)).endpoints).toEqual([]);
  expect(prepare).not.toHaveBeenCalled();
});

test("a failure that D1 could not write is written with the next attempt", async () => {
  const { client, id } = await newOne();
  const row = async () => (await getCachedEndpoint(db, id)) ?? expect.fail();
  await env.DB.prepare(
    "CREATE TRIGGER busy BEFORE UPDATE ON webhook_endpoints BEGIN SELECT RAISE(FAIL, 'busy'); END",
  ).run();
  await expect(recordOutcome(db, await row(), failed())).rejects.toThrow();
  await env.DB.prepare("DROP TRIGGER busy").run();
  expect((await getEndpoint(client, id)).failing_since).toBeNull();
  await recordOutcome(db, await row(), failed());
  expect((await getEndpoint(client, id)).failing_since).toBe(now());
});
