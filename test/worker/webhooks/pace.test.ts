/** The limits of posts to a host, over all accounts; further deliveries are delayed. */
import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { app } from "../../../src/app.ts";
import { type Bindings, settings } from "../../../src/env.ts";
import { mayPost } from "../../../src/outbound/post.ts";
import { ORIGIN } from "../support/client.ts";
import { newEndpoint, WEBHOOK_ENDPOINTS } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { objectOf } from "../support/objects.ts";
import { addressOf, freshPath } from "../support/receiver.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { settled, told, watched } from "../support/webhooks.ts";
import { newUser } from "../support/world.ts";

/** The limits of test/projects/worker.ts. */
const LIMIT = 3;
const SHARE = 1;
const limited: Bindings = Object.assign({}, env, { RATE_LIMITS: "on" });

/** Turns limits on or off in a prediction object, which has bindings of its own. */
const turnLimits = async (id: string, on: boolean) =>
  runInDurableObject(await objectOf(id), (instance) => {
    settings(Reflect.get(instance, "env")).rateLimits = on;
  });

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

test("all URLs of a host count together, and other hosts by themselves", async () => {
  const host = `${crypto.randomUUID()}.example`;
  const answers: boolean[] = [];
  // The window follows the wall clock, and may end in between.
  for (let n = 0; n <= 2 * LIMIT; n++)
    answers.push(await mayPost(limited, `user-${n}`, `https://${host}:${8000 + n}/${n}`));
  expect(answers.filter(Boolean).length).toBeGreaterThanOrEqual(LIMIT);
  expect(answers.filter(Boolean).length).toBeLessThanOrEqual(2 * LIMIT);
  expect(await mayPost(limited, "user", `https://other-${host}/`)).toBe(true);
  expect(await mayPost(env, "user", `https://${host}/`)).toBe(true);
});

test("an account that exceeds its share of a host does not block other accounts", async () => {
  const url = `https://${crypto.randomUUID()}.example/`;
  const answers: boolean[] = [];
  for (let n = 0; n <= 2 * SHARE; n++) answers.push(await mayPost(limited, "greedy", url));
  expect(answers).toContain(false);
  expect(await mayPost(limited, "other", url)).toBe(true);
});

test("a delivery over the limit is delayed, and that does not count as an attempt", async () => {
  vi.spyOn(env.RATE_LIMIT_RECEIVER_SHARE, "limit").mockResolvedValue({ success: true });
  const limit = vi.spyOn(env.RATE_LIMIT_RECEIVER, "limit").mockResolvedValue({ success: false });
  const { client, path, id, channel } = await watched({ events: ["completed"] });
  await turnLimits(id, true);
  onTestFinished(() => turnLimits(id, false));
  await channel.succeed("one");
  for (let held = 1; held <= 15; held++) {
    await eventually(async () => {
      expect(limit).toHaveBeenCalledTimes(held);
      const [event] = await settled(client, id, "planned");
      expect(event?.deliveries[0]?.attempts).toEqual([]);
    });
    await passes(21, id);
  }
  expect(limit).toHaveBeenLastCalledWith({ key: new URL(addressOf(path)).hostname });
  limit.mockResolvedValue({ success: true });
  await passes(21, id);
  const [event] = await settled(client, id, "delivered");
  expect(event?.deliveries[0]?.attempts.map(({ status }) => status)).toEqual([200]);
  expect(await told(path, 1)).toHaveLength(1);
});

test("a test delivery over the limit is a 429", async () => {
  const { client } = await newUser();
  const { id } = await newEndpoint(client, { url: addressOf(freshPath()) });
  vi.spyOn(env.RATE_LIMIT_RECEIVER, "limit").mockResolvedValue({ success: false });
  const request = new Request(`${ORIGIN}${WEBHOOK_ENDPOINTS}/${id}/test`, {
    method: "POST",
    headers: { authorization: `Bearer ${client.token}` },
  });
  const refused = await app.fetch(request, limited, createExecutionContext());
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
  expect(await refused.text()).toContain("Too many webhooks are sent to this endpoint's host");
});
