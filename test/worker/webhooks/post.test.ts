/** One webhook posted to a receiver that answers, or fails, in each of the ways there are. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { post } from "../../../src/outbound/post.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import { impatient } from "../support/outbound.ts";
import { addressOf, exchanged, freshPath, received, script } from "../support/receiver.ts";

const MIB = 1_024 * 1_024;

const letter = (path: string) => ({
  url: `${addressOf(path)}?token=hunter2`,
  headers: { "webhook-id": "evt_1" },
  body: '{"name":"Žofie"}',
});

/** Longer than a test may take, ms: what waits for it fails. */
const NEVER = 60_000;

/** What becomes of it, and how long that took, ms. */
async function posted(path: string, settings = impatient) {
  const begun = performance.now();
  const outcome = await post(letter(path), settings);
  return { outcome, took: performance.now() - begun };
}

test("what is posted is what was given", async () => {
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
  test.each([200, 201, 202, 204, 299])("%d is delivered", async (status) => {
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
  ])("%d is not", async (status, error) => {
    const path = freshPath();
    await script(path, { status, body: "what is wrong" });
    const response = status === 304 ? {} : { response: "what is wrong" };
    expect((await posted(path)).outcome).toEqual({ status, error, ...response });
  });

  test("410 is final", async () => {
    const path = freshPath();
    await script(path, { status: 410 });
    const error = "responded with status 410: it is gone";
    expect((await posted(path)).outcome).toEqual({ status: 410, error, final: true });
  });

  test.each([429, 503])("%d says when to come back", async (status) => {
    const path = freshPath();
    await script(path, { status, headers: { "retry-after": "120" } });
    expect((await posted(path)).outcome).toMatchObject({ status, retryAfterMs: 120_000 });
  });

  test("503 says it with a date", async () => {
    const path = freshPath();
    const date = new Date(Date.now() + 60_000).toUTCString();
    await script(path, { status: 503, headers: { "retry-after": date } });
    const { retryAfterMs = 0 } = (await posted(path)).outcome;
    expect(retryAfterMs).toBeGreaterThan(50_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test.each([301, 302, 303, 307, 308])("%d is not followed", async (status) => {
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
  const broke = "the connection was refused, or closed before a response";

  test.each<Behaviour>(["reset", "reset-at-headers", "hang-up", "garbage", "half", "huge-headers"])(
    "by %s is told from one that is slow",
    async (behaviour) => {
      const path = freshPath();
      await script(path, behaviour);
      const { outcome } = await posted(path);
      expect(outcome).toEqual({ status: null, error: broke });
    },
  );

  test.each<Behaviour>(["silent", "trickle", { status: 200, afterMs: 2_000 }])(
    "by being late (%s) is left when the time is over",
    async (behaviour) => {
      const path = freshPath();
      await script(path, behaviour);
      const { outcome, took } = await posted(path);
      expect(outcome).toEqual({ status: null, error: "no response within 0.3 s" });
      expect(took).toBeGreaterThanOrEqual(impatient.timeoutMs - 5);
      // Left means that its connection is closed too.
      expect(await exchanged(path)).toHaveLength(1);
    },
  );

  test("by not being there", async () => {
    const nobody = { ...letter("/"), url: "http://127.0.0.1:1/?token=hunter2" };
    expect(await post(nobody, impatient)).toEqual({ status: null, error: broke });
  });

  test("by not speaking TLS", async () => {
    const url = addressOf(freshPath()).replace("http:", "https:");
    expect(await post({ ...letter("/"), url }, impatient)).toEqual({
      status: null,
      error: "could not connect: check its host name and certificate",
    });
  });
});

describe("a body in return", () => {
  test.each<[Behaviour, string?]>([
    ["stalled"],
    ["short"],
    ["endless", "x".repeat(1_000)],
    ["hints"],
    [{ status: 200, body: "x".repeat(MIB) }, "x".repeat(1_000)],
  ])("(%s) holds nothing up", async (behaviour, response) => {
    const path = freshPath();
    await script(path, behaviour);
    const { outcome } = await posted(path, { ...impatient, timeoutMs: NEVER });
    expect(outcome).toEqual({ status: 200, error: null, response });
  });

  test("that never comes is not waited for, once it is known to be one", async () => {
    const path = freshPath();
    await script(path, "stalled");
    await posted(path, { ...impatient, timeoutMs: NEVER });
    await exchanged(path);
  });

  test("without end is read no further than a little", async () => {
    const path = freshPath();
    await script(path, "endless");
    await posted(path, { ...impatient, timeoutMs: NEVER });
    // The connection is closed, and not by the time limit: a test may take 5 s. Read were 4 KiB;
    // the kernel's buffers, which hold some more, are filled before anybody reads.
    const [exchange] = await exchanged(path);
    expect(exchange?.sent).toBeLessThan(32 * MIB);
  });

  test.each<[string, string, string | undefined]>([
    ["is quoted", "no such order", "no such order"],
    ["of which only the beginning is quoted", "é".repeat(2_500), "é".repeat(1_000)],
    ["that is no text is not", "\u0000\u0001", undefined],
    ["that is empty is not", " \n", undefined],
  ])("%s", async (_, body, response) => {
    const path = freshPath();
    await script(path, { status: 200, body });
    expect((await posted(path)).outcome).toEqual({ status: 200, error: null, response });
  });

  test("that is short leaves the connection to the next", async () => {
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
  "an object that has posted (%s) may rest at once, long before the time is over",
  async (behaviour) => {
    const path = freshPath();
    await script(path, behaviour);
    const stub = env.PREDICTION.get(env.PREDICTION.newUniqueId());
    await runInDurableObject(stub, () => posted(path, { ...impatient, timeoutMs: 60_000 }));
    // Waits until it has nothing under way: with the timer of AbortSignal.timeout, for a minute.
    await evictDurableObject(stub);
    expect(await exchanged(path)).toHaveLength(1);
  },
);
