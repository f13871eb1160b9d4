/** The consumer of the queue of traces, and the collector that it sends to. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { settings } from "../../../src/env.ts";
import type { TraceMessage } from "../../../src/protocol/traces.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { captureLog } from "../support/log.ts";
import { received, script } from "../support/receiver.ts";
import { collected, deliverTraces, tracing } from "../support/traces.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const message = (name: string): TraceMessage => ({
  spans: [
    {
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      spanId: "00f067aa0ba902b7",
      name,
      kind: 2,
      startTimeUnixNano: "1796000000000000000",
      endTimeUnixNano: "1796000001000000000",
      attributes: [{ key: "auspex.version", value: { intValue: "1" } }],
      status: {},
    },
  ],
});

test("a batch is one request with the operator's headers, whatever the number of predictions", async () => {
  const { bindings, path } = tracing();
  const { ackAll } = await deliverTraces(bindings, [message("a"), message("b"), message("c")]);
  expect(ackAll).toBe(true);
  const requests = await received(path);
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: "Bearer collector",
      "x-team": "ml",
    },
  });
  const [spans = []] = await collected(path);
  expect(spans.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  const sent = JSON.parse(requests[0]?.body ?? "");
  expect(sent.resourceSpans[0].resource.attributes).toEqual([
    { key: "service.name", value: { stringValue: "auspex" } },
  ]);
});

describe("a collector that fails", () => {
  test.each([
    ["with 503", { status: 503 }],
    ["with 500", { status: 500 }],
    ["with 429", { status: 429 }],
    ["without a response", "reset"],
    ["with bytes that are no HTTP", "garbage"],
  ] as const)("a batch is tried again after a failure %s, each time", async (_, behaviour) => {
    const { bindings, path } = tracing();
    const log = captureLog("warn");
    await script(path, behaviour);
    for (const attempts of [1, 2, 3, 4, 5]) {
      const result = await deliverTraces(bindings, [message("a"), message("b")], attempts);
      expect(result.delays).toHaveLength(2);
      expect(result.ackAll).toBe(false);
      expect(result.explicitAcks).toEqual([]);
      expect(result.retryMessages.map(({ msgId }) => msgId)).toEqual(["m0", "m1"]);
      for (const delay of result.delays) {
        expect(delay).toBeGreaterThanOrEqual(7 * 2 ** (attempts - 1));
        expect(delay).toBeLessThanOrEqual(15 * 2 ** (attempts - 1));
      }
    }
    expect(log.entries()).toHaveLength(5);
    expect(JSON.stringify(log.mock.calls)).not.toContain("Bearer");
    await script(path, { status: 200 });
    expect((await deliverTraces(bindings, [message("a")], 6)).ackAll).toBe(true);
  });

  test("a collector that never answers is given up after 10 seconds", async () => {
    const { bindings, path } = tracing();
    const log = captureLog("warn");
    await script(path, "silent");
    const release = holdTimers(10_000);
    const delivering = deliverTraces(bindings, [message("a")]);
    await received(path, 1);
    expect(log.entries()).toEqual([]);
    release();
    expect((await delivering).retryMessages).toHaveLength(1);
    expect(log.entries()).toEqual([
      expect.objectContaining({ error: expect.stringContaining("no response within 10 s") }),
    ]);
  });

  test.each([
    ["40", 40],
    ["3600", 60],
  ])("a Retry-After of %s s is a delay of %i s", async (after, expected) => {
    const { bindings, path } = tracing();
    captureLog("warn");
    await script(path, { status: 503, headers: { "retry-after": after } });
    expect((await deliverTraces(bindings, [message("a")])).delays).toEqual([expected]);
  });

  test.each([400, 401, 404, 413, 302])(
    "spans are dropped with a warning after %i",
    async (status) => {
      const { bindings, path } = tracing();
      const log = captureLog("warn");
      await script(path, { status, headers: { location: "https://example.com" } });
      const { ackAll, retryMessages } = await deliverTraces(bindings, [message("a")]);
      expect(ackAll).toBe(true);
      expect(retryMessages).toEqual([]);
      expect(log.entries()).toEqual([
        expect.objectContaining({ message: "Spans not exported", count: 1 }),
      ]);
      expect(await received(path)).toHaveLength(1);
    },
  );

  test("spans that the collector rejects in a 200 are not sent again", async () => {
    const { bindings, path } = tracing();
    const log = captureLog("warn");
    const body = JSON.stringify({ partialSuccess: { rejectedSpans: "2", errorMessage: "old" } });
    await script(path, { status: 200, body });
    expect((await deliverTraces(bindings, [message("a")])).ackAll).toBe(true);
    expect(log.entries()).toEqual([
      expect.objectContaining({ message: "Spans rejected by the collector", rejected: 2 }),
    ]);
  });
});

test("messages that are left when traces are switched off are dropped", async () => {
  expect((await deliverTraces(env, [message("a")])).ackAll).toBe(true);
});

test("a message of another form is dropped, and the others are sent", async () => {
  const { bindings, path } = tracing();
  captureLog("error");
  await deliverTraces(bindings, [{ spans: [{ name: "x" }] }, message("b")]);
  const [spans = []] = await collected(path);
  expect(spans.map(({ name }) => name)).toEqual(["b"]);
});

describe("settings of traces", () => {
  const settingsWith = (changes: object) => settings(Object.assign({}, env, changes)).traces;

  test.each([
    ["https://otlp.example.com", "https://otlp.example.com/v1/traces"],
    ["https://otlp.example.com/", "https://otlp.example.com/v1/traces"],
    [
      "https://langfuse.example.com/api/public/otel",
      "https://langfuse.example.com/api/public/otel/v1/traces",
    ],
    ["http://localhost:4318", "http://localhost:4318/v1/traces"],
    ["http://[::1]:4318", "http://[::1]:4318/v1/traces"],
  ])("the endpoint %s is posted to at %s", (OTLP_ENDPOINT, url) => {
    expect(settingsWith({ OTLP_ENDPOINT })).toEqual({ url, headers: {}, sampleRate: 1 });
  });

  test.each([
    "http://otlp.example.com",
    "https://user:hunter2@otlp.example.com",
    "https://otlp.example.com?key=hunter2",
    "ftp://otlp.example.com",
    "otlp.example.com",
  ])("the endpoint %s is refused, without its credentials", (OTLP_ENDPOINT) => {
    expect(() => settingsWith({ OTLP_ENDPOINT })).toThrow(/OTLP_ENDPOINT/);
    expect(() => settingsWith({ OTLP_ENDPOINT })).not.toThrow(/hunter2/);
  });

  test("headers have values in URL encoding, and spaces around pairs mean nothing", () => {
    const OTLP_ENDPOINT = "https://otlp.example.com";
    const OTLP_HEADERS = " authorization=Basic%20YTpi==, x-a = 1%2C2 ,";
    expect(settingsWith({ OTLP_ENDPOINT, OTLP_HEADERS })?.headers).toEqual({
      authorization: "Basic YTpi==",
      "x-a": "1,2",
    });
  });

  test.each(["hunter2", "=hunter2", "a b=hunter2", "a=hunter2%0Ax", "a=hunter2%"])(
    "headers %j are refused, without their text",
    (OTLP_HEADERS) => {
      const OTLP_ENDPOINT = "https://otlp.example.com";
      expect(() => settingsWith({ OTLP_ENDPOINT, OTLP_HEADERS })).toThrow(/OTLP_HEADERS/);
      expect(() => settingsWith({ OTLP_ENDPOINT, OTLP_HEADERS })).not.toThrow(/hunter2/);
    },
  );
});
