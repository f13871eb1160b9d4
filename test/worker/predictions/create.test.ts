/** POST /v1/predictions and its answers. */
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { ValidationFailure } from "../../../src/domain/schemas/validation.ts";
import { checkWebhook } from "../../../src/services/predictions/create-prediction.ts";
import { getServices, type Services } from "../../../src/services/services.ts";
import { Client } from "../support/client.ts";
import { EventReader, named } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { countRows, objectOf, specOf } from "../support/objects.ts";
import { newWorld } from "../support/world.ts";

const world = await newWorld({
  visibility: "public",
  input: { type: "object", required: ["prompt"], properties: { prompt: { type: "string" } } },
});
const { client, model } = world;

test("a create without Prefer answers 202 at once with the pending prediction", async () => {
  const { status, headers, body } = await client.create({ model, input: { prompt: "hi" } });
  expect(status).toBe(202);
  expect(headers.get("preference-applied")).toBeNull();
  expect(headers.get("location")).toBe(`/v1/predictions/${body.id}`);
  expect(headers.get("x-request-id")).toMatch(/./);
  expect(body).toMatchObject({
    model: { owner: world.username, name: "story", version_number: 1 },
    status: "pending",
    input: { prompt: "hi" },
    output: null,
    error: null,
    metrics: null,
    setup_time: null,
    execution_time: null,
    stream: false,
    data_removed: false,
    url: `https://auspex.test/v1/predictions/${body.id}`,
  });
  expect(await client.get(body.id)).toEqual(body);
});

test("a create whose wait is long enough answers 200 with the finished prediction", async () => {
  const { client, model, runner } = await newWorld();
  const creating = client.create({ model, input: { prompt: "hi" } }, { prefer: "wait=20" });
  const one = await runner();
  const { job, channel } = await one.work();
  expect(job.input).toEqual({ prompt: "hi" });
  await channel.report([{ event: "metrics", data: { output_tokens: 2 } }]);
  await channel.report(
    [
      { event: "output", data: "a" },
      { event: "output", data: "b" },
    ],
    { status: "succeeded", output: "items", setup_seconds: 0.25, execution_seconds: 1 },
  );
  const { status, headers, body } = await creating;
  expect(status).toBe(200);
  expect(headers.get("preference-applied")).toBe("wait=20");
  expect(body).toMatchObject({
    status: "succeeded",
    output: ["a", "b"],
    metrics: { output_tokens: 2 },
    setup_time: "0.250",
    execution_time: "1.000",
  });
});

test("a failure within the wait is a 200 too", async () => {
  const { client, model, runner } = await newWorld();
  const creating = client.create({ model, input: {} }, { prefer: "wait" });
  const { channel } = await (await runner()).work();
  const error = { source: "external", message: "boom", detail: { at: 3 } } as const;
  await channel.report([], { status: "failed", output: "none", error });
  const { status, headers, body } = await creating;
  expect(status).toBe(200);
  expect(headers.get("preference-applied")).toBe("wait=60");
  expect(body).toMatchObject({ status: "failed", error, output: null });
});

test("a create whose wait is over answers 202, and the prediction goes on", async () => {
  const { status, headers, body } = await client.create(
    { model, input: {} },
    { prefer: "wait=0, respond-async" },
  );
  expect(status).toBe(202);
  expect(headers.get("preference-applied")).toBe("wait=0");
  expect(await client.status(body.id)).toBe("pending");
});

test("a create with stream: true answers the event stream itself, which begins with the prediction", async () => {
  const { client, model, runner } = await newWorld();
  const response = await client.post(
    "/v1/predictions",
    { model, input: {}, stream: true },
    { prefer: "wait=30" },
  );
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch("text/event-stream");
  expect(response.headers.get("preference-applied")).toBe("wait=30");
  const location = response.headers.get("location") ?? "";
  const reader = new EventReader(response.body);
  const [first] = await reader.take(1);
  expect(first).toMatchObject({
    id: 1,
    event: "status",
    data: { status: "pending", prediction: { stream: true } },
  });
  const { channel } = await (await runner()).work();
  await channel.succeed("one");
  const rest = await reader.rest();
  expect(named(rest, "output")).toEqual(["one"]);
  expect(rest.at(-1)).toMatchObject({ event: "done", data: { status: "succeeded" } });
  expect(location).toBe(
    `/v1/predictions/${(await client.get(location.split("/").at(-1) ?? "")).id}`,
  );
});

test("a create under a model's path, with and without a version, is the same", async () => {
  for (const path of [
    `/v1/models/${model}/predictions`,
    `/v1/models/${model}/versions/1/predictions`,
  ]) {
    const { status, body } = await client.json<{ status: string; model: object }>("POST", path, {
      input: { prompt: "x" },
    });
    expect(status).toBe(202);
    expect(body).toMatchObject({ status: "pending", model: { version_number: 1 } });
  }
  const named = await client.create({ model: `${model}:1`, input: {} });
  expect(named.status).toBe(202);
});

describe("Validate-Input", () => {
  const on = { "validate-input": "true" };

  test("Validate-Input refuses an input that violates the schema before anything begins", async () => {
    const before = await countRows(world.user_id);
    const { status, body } = await client.refused(
      "/v1/predictions",
      { model, input: { prompt: 5 } },
      on,
    );
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["body", "input", "prompt"] }]);
    expect(await countRows(world.user_id)).toBe(before);
  });

  test("Validate-Input accepts an input that fits the schema", async () => {
    expect((await client.create({ model, input: { prompt: "x" } }, on)).status).toBe(202);
  });

  test("Validate-Input checks nothing when it is false or absent", async () => {
    expect(
      (await client.create({ model, input: { prompt: 5 } }, { "validate-input": "false" })).status,
    ).toBe(202);
    expect((await client.create({ model, input: { prompt: 5 } })).status).toBe(202);
  });
});

describe("a webhook", () => {
  const webhook = {
    url: "https://hooks.example.com/x",
    secret: "a-secret-of-mine",
    events: ["completed"],
  };

  test("a webhook is kept and never shown", async () => {
    const { body } = await client.create({ model, input: {}, webhook });
    const shown = [
      body,
      await client.get(body.id),
      (await client.json("GET", "/v1/predictions")).body,
    ];
    const events = new EventReader((await client.stream(body.id)).body);
    const first = await events.next();
    await events.leave();
    expect(JSON.stringify([shown, first])).not.toMatch(/a-secret-of-mine|hooks\.example\.com/);
    const kept = await specOf(await objectOf(body.id));
    expect(JSON.stringify(kept)).not.toContain(webhook.secret);
    const secret = { secret: expect.stringMatching(/^v1\./), encrypted: true };
    expect(kept.webhook).toEqual({ ...webhook, ...secret });
  });

  test("a webhook needs https, unless the deployment allows otherwise", () => {
    const services = getServices(env);
    const strict = {
      ...services,
      settings: {
        ...services.settings,
        webhooks: { ...services.settings.webhooks, allowInsecure: false },
      },
    };
    const check = (of: Services, url: string) => () => checkWebhook(of, { url });
    expect(check(strict, "https://hooks.example.com/x")).not.toThrow();
    expect(check(strict, "http://127.0.0.1:8080/x")).toThrow(ValidationFailure);
    expect(check(services, "http://127.0.0.1:8080/x")).not.toThrow();
  });

  test("a webhook of null is no webhook", async () => {
    expect((await client.create({ model, input: {}, webhook: null })).status).toBe(202);
  });
});

test("a public model of another account runs for every caller, and only the caller reads the prediction", async () => {
  const stranger = await world.stranger();
  const { body } = await stranger.create({ model, input: {} });
  expect(await stranger.status(body.id)).toBe("pending");
  const { status } = await client.json("GET", `/v1/predictions/${body.id}`);
  expect(status).toBe(404);
});

test("the row of a prediction exists when the create answers, and later has its final status", async () => {
  const { client, model, runner, user_id } = await newWorld();
  const { body } = await client.create({ model, input: {} });
  expect(await countRows(user_id)).toBe(1);
  const { channel } = await (await runner()).work();
  await channel.succeed("x");
  await eventually(async () => {
    const listed = await client.json<{ items: { status: string }[] }>("GET", "/v1/predictions");
    expect(listed.body.items).toMatchObject([{ id: body.id, status: "succeeded" }]);
  });
});

test("a create without a token is a 401", async () => {
  const { status, headers } = await new Client(undefined).refused("/v1/predictions", {
    model,
    input: {},
  });
  expect(status).toBe(401);
  expect(headers.get("www-authenticate")).toBe("Bearer");
});
