/** One webhook posted to receivers that answer or fail in every way. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { post } from "../../../src/outbound/post.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import { sized } from "../../support/sized.ts";
import { impatient, patient } from "../support/outbound.ts";
import { addressOf, exchanged, freshPath, received, script } from "../support/receiver.ts";

const MIB = 1_024 * 1_024;

const letter = (path: string) => ({
  url: `${addressOf(path)}?token=hunter2`,
  headers: { "webhook-id": "evt_1" },
  body: '{"name":"Žofie"}',
});

/** Posts a webhook. Returns the outcome and the time in ms. */
async function posted(path: string, settings = patient) {
  const begun = performance.now();
  const outcome = await post(letter(path), settings);
  return { outcome, took: performance.now() - begun };
}

test("a post has the given headers, query and body", async () => {
  const path = freshPath();
  expect((await posted(path)).outcome).toEqual({ status: 200, error: null });
  expect(await received(path)).toEqual([
    expect.objectContaining({
      method: "POST",
      query: "?token=hunter2",
      body: '{"name":"Žofie"}',
      headers: expect.objectContaining({
        "content-type": "application/json",
        "user-agent": "Auspex-Webhooks/1.0",
        "webhook-id": "evt_1",
      }),
    }),
  ]);
});

describe("an answer with status", () => {
  test.each([200, 201, 202, 204, 299])("the status %d counts as delivered", async (status) => {
    const path = freshPath();
    await script(path, { status });
    expect((await posted(path)).outcome).toEqual({ status, error: null });
  });

  test.each([
    [304, "responded with status 304: redirects are not followed"],
    [400, "responded with status 400"],
    [404, "responded with status 404"],
    [500, "responded with status 500"],
    [503, "responded with status 503"],
    [521, "responded with status 521 (from Cloudflare: the connection was refused)"],
  ])("the status %d does not count as delivered", async (status, error) => {
    const path = freshPath();
    await script(path, { status, body: "what is wrong" });
    const response = status === 304 ? {} : { response: "what is wrong" };
    expect((await posted(path)).outcome).toEqual({ status, error, ...response });
  });

  test("the status 410 is final", async () => {
    const path = freshPath();
    await script(path, { status: 410 });
    const error = "responded with status 410: it is gone";
    expect((await posted(path)).outcome).toEqual({ status: 410, error, final: true });
  });

  test.each([429, 503])("the status %d can have a retry-after in seconds", async (status) => {
    const path = freshPath();
    await script(path, { status, headers: { "retry-after": "120" } });
    expect((await posted(path)).outcome).toMatchObject({ status, retryAfterMs: 120_000 });
  });

  test("the status 503 can have a retry-after as a date", async () => {
    const path = freshPath();
    const date = new Date(Date.now() + 60_000).toUTCString();
    await script(path, { status: 503, headers: { "retry-after": date } });
    const { retryAfterMs = 0 } = (await posted(path)).outcome;
    expect(retryAfterMs).toBeGreaterThan(50_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test.each([301, 302, 303, 307, 308])("a redirect with %d is not followed", async (status) => {
    const path = freshPath();
    const inside = freshPath();
    await script(path, { status, headers: { location: addressOf(inside) } });
    const error = `responded with status ${status}: redirects are not followed`;
    expect((await posted(path)).outcome).toEqual({ status, error });
    expect(await received(path)).toHaveLength(1);
    expect(await received(inside)).toEqual([]);
  });
});

describe("a receiver that fails", () => {
  const LATE: Behaviour[] = ["silent", "trickle", { status: 200, afterMs: 2_000 }];
  const broke = "connection refused or closed before a response";

  test.each<Behaviour>(["reset", "reset-at-headers", "hang-up", "garbage", "half", "huge-headers"])(
    "a receiver that fails by %s is a closed connection, not a timeout",
    async (behaviour) => {
      const path = freshPath();
      await script(path, behaviour);
      const { outcome } = await posted(path);
      expect(outcome).toEqual({ status: null, error: broke });
    },
  );

  test.each(LATE.slice(0, sized(1, LATE.length)))(
    "a receiver that is late (%s) is given up after the time limit",
    async (behaviour) => {
      const path = freshPath();
      await script(path, behaviour);
      const { outcome, took } = await posted(path, impatient);
      expect(outcome).toEqual({ status: null, error: "no response within 0.3 s" });
      expect(took).toBeGreaterThanOrEqual(impatient.timeoutMs - 5);
      // The connection is closed as well.
      expect(await exchanged(path)).toHaveLength(1);
    },
  );

  test("a receiver that does not exist is a refused connection", async () => {
    const nobody = { ...letter("/"), url: "http://127.0.0.1:1/?token=hunter2" };
    expect(await post(nobody, patient)).toEqual({ status: null, error: broke });
  });

  test("a receiver without TLS is a failed connection", async () => {
    const url = addressOf(freshPath()).replace("http:", "https:");
    expect(await post({ ...letter("/"), url }, patient)).toEqual({
      status: null,
      error: "could not connect; check the host name and certificate",
    });
  });
});

describe("a response's body", () => {
  test.each<[Behaviour, string?]>([
    ["stalled"],
    ["short"],
    ["endless", "x".repeat(1_000)],
    ["hints"],
    [{ status: 200, body: "x".repeat(MIB) }, "x".repeat(1_000)],
  ])("a response's body (%s) does not delay the outcome", async (behaviour, response) => {
    const path = freshPath();
    await script(path, behaviour);
    const { outcome } = await posted(path);
    expect(outcome).toEqual({ status: 200, error: null, response });
  });

  test("a response's body that never arrives is not waited for", async () => {
    const path = freshPath();
    await script(path, "stalled");
    await posted(path);
    await exchanged(path);
  });

  test("a response's endless body is read only at its beginning", async () => {
    const path = freshPath();
    await script(path, "endless");
    await posted(path);
    // The connection is closed before the time limit, since a test may take only 5 s. 4 KiB were read,
    // and the kernel's buffers were filled beyond that.
    const [exchange] = await exchanged(path);
    expect(exchange?.sent).toBeLessThan(32 * MIB);
  });

  test.each<[string, string, string | undefined]>([
    ["is quoted", "no such order", "no such order"],
    ["of 2,500 characters is quoted at its beginning", "é".repeat(2_500), "é".repeat(1_000)],
    ["of binary data is not quoted", "\u0000\u0001", undefined],
    ["of white space is not quoted", " \n", undefined],
  ])("a response's body %s", async (_, body, response) => {
    const path = freshPath();
    await script(path, { status: 200, body });
    expect((await posted(path)).outcome).toEqual({ status: 200, error: null, response });
  });

  test("a response's short body lets the next post use the connection", async () => {
    const path = freshPath();
    await script(path, { status: 200, body: "thank you ".repeat(100) });
    for (let n = 1; n <= 5; n++) {
      await posted(path);
      await exchanged(path, n);
    }
    const connections = (await received(path)).map(({ connection }) => connection);
    expect(new Set(connections).size).toBeLessThan(3);
  });
});

test.each<Behaviour>([{ status: 200, body: "ok" }, "endless", "reset"])(
  "an object can be evicted right after its post (%s), before the time limit",
  async (behaviour) => {
    const path = freshPath();
    await script(path, behaviour);
    const stub = env.PREDICTION.get(env.PREDICTION.newUniqueId());
    await runInDurableObject(stub, () => posted(path));
    // `evictDurableObject` waits for pending work. A timer of AbortSignal.timeout would take a minute.
    await evictDurableObject(stub);
    expect(await exchanged(path)).toHaveLength(1);
  },
);
