import { afterEach, beforeEach, expect, test } from "vitest";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import {
  problemDetail,
  retryAfterMs,
  retryCall,
} from "../../../runner/src/control-plane/json-client.ts";
import { isRetryable } from "../../../runner/src/lib/error.ts";
import { runnerSnapshot } from "../../protocol/runner-snapshot.ts";
import { type Answer, FakeControlPlane } from "../support/fake-control-plane.ts";

const _CLAIM = {
  runner_id: "r",
  session: "s",
  pool: "cpu",
  images: [],
  snapshot: runnerSnapshot(),
};
const never = new AbortController().signal;
let plane: FakeControlPlane;
let client: ControlPlane;
beforeEach(async () => {
  plane = await FakeControlPlane.start();
  client = new ControlPlane({ url: plane.url, token: "ausr_secret" });
});
afterEach(() => plane.stop());

const answer = (given: Answer) => plane.endpoints.set("/v1/runner/input", () => given);
const failure = (work: Promise<unknown>) =>
  work.then(
    () => {
      throw new Error("should have failed");
    },
    (error: unknown) => error,
  );

test("the client sends the token and the lease, and parses the answer", async () => {
  let headers: unknown;
  plane.endpoints.set("/v1/runner/input", (_body, request) => {
    headers = request.headers;
    return { body: { input: { a: 1 } } };
  });
  expect(await client.input("l", never)).toEqual({ a: 1 });
  expect(headers).toMatchObject({ authorization: "Bearer ausr_secret", "x-auspex-lease": "l" });
  expect(client.channel("l").url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/v1\/runner\/channel$/);
});

test.each([
  [503, true],
  [500, true],
  [429, true],
  [408, true],
  [401, false],
  [409, false],
  [302, false],
])("HTTP %i is retryable: %s", async (status, retryable) => {
  answer({ status });
  const error = await failure(client.input("l", never));
  expect(error).toMatchObject({ status });
  expect(isRetryable(error)).toBe(retryable);
});

test("an answer that does not fit the protocol is not retried", async () => {
  answer({ body: { inputs: {} } });
  expect(isRetryable(await failure(client.input("l", never)))).toBe(false);
});

test("a missing answer is retryable with its reason, and an abort is passed on", async () => {
  const away = new ControlPlane({ url: "http://127.0.0.1:2", token: "ausr_secret" });
  const error = await failure(away.input("l", never));
  expect(isRetryable(error)).toBe(true);
  expect(String(error)).toContain("ECONNREFUSED");
  expect(String(error)).not.toContain("secret");
  expect(await failure(away.input("l", AbortSignal.abort("mine")))).toBe("mine");
});

test("retries are bounded, and end with the signal", async () => {
  let calls = 0;
  plane.endpoints.set("/v1/runner/input", () => {
    calls++;
    return { status: 503 };
  });
  const ask = () => client.input("l", never);
  await failure(retryCall(ask, { attempts: 3, baseMs: 1, maxMs: 1, signal: never }));
  expect(calls).toBe(3);
  const stop = new AbortController();
  const onRetry = () => stop.abort();
  const bounds = { attempts: 9, baseMs: 60_000, maxMs: 60_000, signal: stop.signal };
  expect(await failure(retryCall(ask, { ...bounds, onRetry }))).toMatchObject({
    name: "AbortError",
  });
});

test("Retry-After takes seconds and dates, ignores nonsense, and is at most a minute", () => {
  const now = Date.parse("2026-11-20T12:00:00Z");
  expect(retryAfterMs("2", now)).toBe(2_000);
  expect(retryAfterMs("Fri, 20 Nov 2026 12:00:05 GMT", now)).toBe(5_000);
  expect(retryAfterMs("86400", now)).toBe(60_000);
  expect([
    retryAfterMs("soon", now),
    retryAfterMs(undefined, now),
    retryAfterMs("-1", now),
  ]).toEqual([0, 0, 0]);
});

test("the client reads the messages of both error bodies", () => {
  const problem = { type: "x", title: "Conflict", status: 409, detail: "why", request_id: "r" };
  expect(problemDetail(409, JSON.stringify(problem))).toBe("why");
  const invalid = { detail: [{ loc: ["body", "free"], msg: "too small", type: "x" }] };
  expect(problemDetail(422, JSON.stringify(invalid))).toBe("body.free: too small");
  expect(problemDetail(502, "<html>")).toBe("HTTP 502");
});
