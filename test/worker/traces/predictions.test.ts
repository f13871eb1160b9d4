/** Traces of predictions: from the request to the message of the queue, and what a runner gets. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import { settings } from "../../../src/env.ts";
import { attributeOf, type OtlpSpan, otlpSpans } from "../../domain/predictions/otlp.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { captureLog } from "../support/log.ts";
import { objectOf } from "../support/objects.ts";
import { answer, chat, completion, newOpenAi } from "../support/openai.ts";
import { newPlayground } from "../support/playground.ts";
import { addressOf, freshPath, received, script } from "../support/receiver.ts";
import { bodyOf, reportTo, WAIT, waitingRunner } from "../support/short-runs.ts";
import { ClientOf, collected, deliverTraces, holdTraces, tracing } from "../support/traces.ts";
import { newWorld } from "../support/world.ts";

const SECRET = "the-secret-of-the-prompt";
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;

afterEach(() => void vi.restoreAllMocks());

const named = (spans: OtlpSpan[], name: string) =>
  spans.find((span) => span.name === name) ?? expect.fail(`no span ${name}`);

test("a prediction continues the caller's trace to the container, and its end reaches the collector", async () => {
  const world = await newWorld();
  const { bindings, path } = tracing();
  const traces = holdTraces();
  const client = new ClientOf(world.client, bindings);
  const { body } = await client.create(
    { model: world.model, input: { prompt: SECRET } },
    { traceparent: TRACEPARENT },
  );
  const runner = await world.runner();
  const job = await runner.take();
  const channel = await runner.connect(job);
  await channel.report([{ event: "setup", data: { phase: "pulling" } }]);
  await channel.report([{ event: "setup", data: { phase: "ready" } }]);
  expect(traces.messages()).toEqual([]);
  await channel.report(
    [
      { event: "logs", data: SECRET },
      { event: "output", data: SECRET },
      { event: "metrics", data: { input_tokens: 5, output_tokens: 2 } },
    ],
    { status: "failed", output: "items", error: { source: "external", message: SECRET } },
  );
  const messages = await traces.sent();
  expect(JSON.stringify(messages)).not.toContain(SECRET);
  expect((await deliverTraces(bindings, messages)).ackAll).toBe(true);
  const [spans = []] = await collected(path);
  expect(spans.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["POST /v1/predictions", "queue", "setup", `predict ${world.model}`]),
  );
  const root = named(spans, "POST /v1/predictions");
  expect(root).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, kind: 2 });
  const run = named(spans, `predict ${world.model}`);
  expect(run).toMatchObject({ parentSpanId: root.spanId, kind: 3, status: { code: 2 } });
  expect(job.traceparent).toBe(`00-${TRACE}-${run.spanId}-01`);
  expect(attributeOf(run, "error.type")).toBe("external");
  expect(attributeOf(run, "gen_ai.usage.input_tokens")).toBe(5);
  expect(attributeOf(run, "auspex.runner.id")).toBe(runner.id);
  for (const span of spans) expect(attributeOf(span, "auspex.prediction.id")).toBe(body.id);
});

test("a version whose owner wants it has the beginnings of the owner's inputs and outputs, not of others'", async () => {
  const world = await newWorld({
    configuration: { trace_content: true },
    visibility: "public",
  });
  const { bindings, path } = tracing();
  const long = SECRET.padEnd(20_000, "x");
  const traces = holdTraces();
  const runBy = async (client: Client) => {
    await new ClientOf(client, bindings).create({ model: world.model, input: { prompt: long } });
    const { channel } = await (await world.runner()).work();
    await channel.succeed(SECRET);
  };
  await runBy(world.client);
  await deliverTraces(bindings, await traces.sent());
  const [spans = []] = await collected(path);
  const run = named(spans, `predict ${world.model}`);
  expect(attributeOf(run, "auspex.input")).toHaveLength(8_000);
  expect(attributeOf(run, "auspex.input")).toMatch(`{"prompt":"${SECRET}`);
  expect(attributeOf(run, "auspex.output")).toBe(JSON.stringify([SECRET]));
  await runBy(await world.stranger());
  expect(JSON.stringify((await traces.sent(2))[1])).not.toContain(SECRET);
});

test("a webhook's delivery is a span of its prediction's trace, without its address and its data", async () => {
  const world = await newWorld();
  const { bindings, path } = tracing();
  const traces = holdTraces();
  const client = new ClientOf(world.client, bindings);
  const hook = freshPath();
  const events = ["output", "completed"];
  await client.create(
    { model: world.model, input: { prompt: SECRET }, webhook: { url: addressOf(hook), events } },
    { traceparent: TRACEPARENT },
  );
  const runner = await world.runner();
  const channel = await runner.connect(await runner.take());
  await channel.report([{ event: "output", data: SECRET }], {
    status: "succeeded",
    output: "items",
  });
  await received(hook, 1);
  const messages = await traces.sent(2);
  expect(JSON.stringify(messages)).not.toMatch(new RegExp(`${SECRET}|${hook}`));
  await deliverTraces(bindings, messages);
  const [spans = []] = await collected(path);
  const span = named(spans, "webhook completed");
  const root = named(spans, "POST /v1/predictions");
  expect(span).toMatchObject({ traceId: TRACE, parentSpanId: root.spanId, kind: 3 });
  expect(span.status).toEqual({});
  expect(attributeOf(span, "http.response.status_code")).toBe(200);
  expect(attributeOf(span, "auspex.webhook.attempts")).toBe(1);
});

test("a delivery that has failed for good is a span with an error", async () => {
  const world = await newWorld();
  const { bindings } = tracing();
  const traces = holdTraces();
  const client = new ClientOf(world.client, bindings);
  const hook = freshPath();
  await script(hook, { status: 410 });
  await client.create(
    { model: world.model, input: {}, webhook: { url: addressOf(hook), events: ["completed"] } },
    { traceparent: TRACEPARENT },
  );
  const runner = await world.runner();
  const channel = await runner.connect(await runner.take());
  await channel.report([], { status: "succeeded", output: "items" });
  const messages = await traces.sent(2);
  const spans = otlpSpans.parse(messages.flatMap((one) => one.spans));
  const span = named(spans, "webhook completed");
  expect(span.status).toEqual({ code: 2 });
  expect(attributeOf(span, "error.type")).toBe("external");
  expect(attributeOf(span, "http.response.status_code")).toBe(410);
});

test("an OpenAI call has a trace of its own, named by its operation and its route", async () => {
  const world = await newOpenAi();
  const traces = holdTraces();
  const client = new ClientOf(world.client, tracing().bindings);
  const [response] = await Promise.all([
    chat(client, world.model),
    answer(world.fleet, completion("on")),
  ]);
  expect(response.status).toBe(200);
  const [{ spans } = { spans: [] }] = await traces.sent();
  const all = otlpSpans.parse(spans);
  const root = named(all, "POST /v1/vendora/chat/completions");
  expect(root).not.toHaveProperty("parentSpanId");
  const run = named(all, `chat ${world.model}`);
  expect(attributeOf(run, "gen_ai.operation.name")).toBe("chat");
  expect(attributeOf(run, "gen_ai.usage.output_tokens")).toBe(2);
});

test("a short run is traced like any other, after its caller has the answer", async () => {
  const world = await newWorld();
  const traces = holdTraces();
  // A queue that never answers delays nobody.
  traces.sending.mockReturnValue(new Promise(() => {}));
  const client = new ClientOf(world.client, tracing().bindings);
  const { runner, polling } = await waitingRunner(world);
  const creating = client.create(bodyOf(world), WAIT);
  await reportTo(runner, await polling);
  expect((await creating).body).toMatchObject({ status: "succeeded", output: "hi" });
  const [{ spans } = { spans: [] }] = await traces.sent();
  expect(spans.map(({ name }) => name)).toContain("POST /v1/predictions");
});

test("a trace that cannot be sent is a warning, and the prediction ends as usual", async () => {
  const world = await newWorld();
  const log = captureLog("warn");
  const traces = holdTraces();
  traces.sending.mockRejectedValue(new Error("the queue is down"));
  const client = new ClientOf(world.client, tracing().bindings);
  const { body } = await client.create(bodyOf(world), { traceparent: TRACEPARENT });
  const { channel } = await (await world.runner()).work();
  await channel.report([], { status: "succeeded", output: "none" });
  await traces.sent();
  expect(await client.status(body.id)).toBe("succeeded");
  await vi.waitFor(() =>
    expect(log.entries()).toEqual([
      expect.objectContaining({
        message: "Trace not sent",
        prediction_id: body.id,
        trace_id: TRACE,
      }),
    ]),
  );
});

test("a prediction that the caller or the sample rate leaves out has no trace and no message", async () => {
  const world = await newWorld();
  const traces = holdTraces();
  const { bindings } = tracing();
  const unsampled = tracing({ OTLP_SAMPLE_RATE: "0" });
  const runs = [
    [new ClientOf(world.client, bindings), TRACEPARENT.replace(/1$/, "0")],
    [new ClientOf(world.client, unsampled.bindings), undefined],
    [world.client, TRACEPARENT],
  ] as const;
  const runner = await world.runner();
  for (const [client, traceparent] of runs) {
    await client.create(bodyOf(world), traceparent === undefined ? {} : { traceparent });
    const { job, channel } = await runner.work();
    expect(job).not.toHaveProperty("traceparent");
    await channel.report([], { status: "succeeded", output: "none" });
  }
  // A traced prediction that ends after them: its message is the only one.
  const last = new ClientOf(world.client, unsampled.bindings);
  await last.create(bodyOf(world), { traceparent: TRACEPARENT });
  const { channel } = await runner.work();
  await channel.report([], { status: "succeeded", output: "none" });
  const [{ spans } = { spans: [] }] = await traces.sent();
  expect(spans[0]?.traceId).toBe(TRACE);
});

test("without traces a request's traceparent is neither stored nor logged", async () => {
  const world = await newWorld();
  const { id } = (await world.client.create(bodyOf(world), { traceparent: TRACEPARENT })).body;
  const stored = await runInDurableObject(await objectOf(id), (_, { storage }) =>
    JSON.stringify([...storage.kv.list()]),
  );
  expect(stored).toContain(id);
  expect(stored).not.toContain(TRACE);
});

test("the log line of a traced prediction has the id of its trace", async () => {
  const world = await newWorld();
  const traces = holdTraces();
  const client = new ClientOf(world.client, tracing().bindings);
  const { id } = (await client.create(bodyOf(world), { traceparent: TRACEPARENT })).body;
  const { channel } = await (await world.runner()).work();
  const sample = async (rate: number) =>
    runInDurableObject(await objectOf(id), (instance) => {
      settings(Reflect.get(instance, "env")).logSampleRate = rate;
    });
  await sample(1);
  const log = captureLog("info");
  await channel.report([], { status: "succeeded", output: "none" });
  await sample(0);
  await traces.sent();
  expect(log.entries()).toEqual([
    expect.objectContaining({ message: "Prediction ended", prediction_id: id, trace_id: TRACE }),
  ]);
});

test("a traceparent that is invalid is as good as none, and a canceled prediction is no error", async () => {
  const world = await newWorld();
  const traces = holdTraces();
  const client = new ClientOf(world.client, tracing().bindings);
  const { id } = (await client.create(bodyOf(world), { traceparent: "00-nonsense" })).body;
  await new Client(world.client.token).cancel(id);
  const [{ spans } = { spans: [] }] = await traces.sent();
  const [root] = otlpSpans.parse(spans);
  expect(root).not.toHaveProperty("parentSpanId");
  expect(attributeOf(root ?? expect.fail(), "auspex.status")).toBe("canceled");
  expect(root?.status).toEqual({});
});

test("a run of the playground is traced by the route of its page", async () => {
  const { visitor, page, client } = await newPlayground();
  const traces = holdTraces();
  await visitor.look(page);
  const browser = new ClientOf(new Client(undefined), tracing().bindings);
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await browser.post(
    page,
    { input: { prompt: "hi" } },
    { accept: "application/json", origin: ORIGIN, "x-form-token": visitor.formToken, cookie },
  );
  expect(response.status).toBe(200);
  await client.cancel((await response.json<{ id: string }>()).id);
  const [{ spans } = { spans: [] }] = await traces.sent();
  expect(spans[0]?.name).toMatch(/^POST \/models\/:\w+\/:\w+$/);
});
