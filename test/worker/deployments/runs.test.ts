/** Predictions of deployments: by which names they are made, and what replaces the settings of the version. */
import { expect, test } from "vitest";
import { replicateDeployment, replicatePrediction } from "../../../src/protocol/replicate.ts";
import { pageAt, publish } from "../support/catalogue.ts";
import { newDeployment } from "../support/deployments.ts";
import { eventually } from "../support/eventually.ts";
import { rowOf } from "../support/objects.ts";
import { newUser, newWorld, operator, unique } from "../support/world.ts";

const MESSAGES = [{ role: "user", content: "Who is the Mad Hatter?" }];

const FLAGS = { vendora_chat_completions: true, vendorb_messages: true } as const;

test("a run of a deployment has its hardware, limits and priority, and containers of its own", async () => {
  const { client, username, model, runner } = await newWorld({
    configuration: { idle_seconds: 60, max_concurrency: 2 },
  });
  const { body: plain } = await client.create({ model, input: {} });
  const one = await runner();
  const { job: ofModel, channel } = await one.work();
  await channel.succeed("a");
  const settings = { idle_seconds: 900, max_concurrency: 8, priority: "high" };
  const { name } = await newDeployment(client, { model, ...settings });
  const { body } = await client.create({ model: `${username}/${name}`, input: {} });
  const { job, channel: second } = await one.work();
  await second.succeed("b");
  expect(job.limits).toMatchObject({ idle_seconds: 900, max_concurrency: 8 });
  expect(job.keys.container).not.toBe(ofModel.keys.container);
  expect(job.keys.files).toBe(ofModel.keys.files);
  expect(plain).not.toHaveProperty("deployment");
  const made = { model: { name: "story", version_number: 1 }, deployment: `${username}/${name}` };
  expect(body).toMatchObject(made);
  expect(await client.get(body.id)).toMatchObject({ ...made, status: "succeeded" });
  await eventually(async () => {
    const { items } = await pageAt<{ id: string }>(client, "/v1/predictions");
    expect(items.find(({ id }) => id === body.id)).toMatchObject(made);
  });
  expect(await rowOf(body.id)).toMatchObject({ deployment: made.deployment, release: 1 });
});

test("a release on another class runs there", async () => {
  const { client, username, model } = await newWorld();
  const hardware = unique("hw");
  await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: hardware, gpus: 2 });
  const { name } = await newDeployment(client, { model, hardware });
  const { body } = await client.create({ model: `${username}/${name}`, input: {} });
  expect(await rowOf(body.id)).toMatchObject({ hardware });
});

test("a deployment is run by each API that takes a model's name", async () => {
  const { client, username, model } = await newWorld({ compatibilities: FLAGS });
  const { name } = await newDeployment(client, { model });
  const path = `${username}/${name}`;
  const calls: [string, object][] = [
    ["/v1/predictions", { model: path, input: {} }],
    [`/v1/deployments/${path}/predictions`, { input: {} }],
    ["/replicate/v1/predictions", { version: path, input: {} }],
    [`/replicate/v1/deployments/${path}/predictions`, { input: {} }],
  ];
  for (const [address, body] of calls) {
    const { body: made } = await client.json<{ id: string }>("POST", address, body);
    expect(await client.get(made.id)).toMatchObject({ deployment: path });
  }
  const estimate = await client.ok("POST", "/v1/predictions/estimate", { model: path, input: {} });
  expect(estimate).toMatchObject({ model: { name: "story" } });
});

test("a deployment is a model of the lists and calls of OpenAI's and Anthropic's APIs", async () => {
  const { client, username, model, runner } = await newWorld({ compatibilities: FLAGS });
  const { name } = await newDeployment(client, { model });
  await newDeployment(client, { model, max_instances: 0 });
  const path = `${username}/${name}`;
  for (const convention of ["vendora", "vendorb"]) {
    const { data } = await client.ok<{ data: { id: string }[] }>("GET", `/v1/${convention}/models`);
    expect(data.map(({ id }) => id)).toEqual([path, model]);
    expect(
      await client.ok("GET", `/v1/${convention}/models/${encodeURIComponent(path)}`),
    ).toMatchObject({ id: path });
  }
  const one = await runner(2);
  const chat = client.json("POST", "/v1/vendora/chat/completions", {
    model: path,
    messages: MESSAGES,
  });
  const { job, channel } = await one.work();
  const { items } = await pageAt(client, "/v1/predictions");
  expect(items).toMatchObject([{ id: job.prediction_id, deployment: path }]);
  await client.cancel(job.prediction_id);
  expect(await channel.next()).toMatchObject({ type: "cancel" });
  await channel.report([], { status: "canceled", output: "none" });
  await chat;
});

test("a deployment is to other accounts as if it did not exist, whatever its model is", async () => {
  const { client, username, model } = await newWorld({
    visibility: "public",
    compatibilities: FLAGS,
  });
  const { name } = await newDeployment(client, { model });
  const { client: stranger } = await newUser();
  const answers = async (path: string) => {
    const given = [];
    for (const [address, body] of [
      ["/v1/predictions", { model: path, input: {} }],
      [`/v1/deployments/${path}/predictions`, { input: {} }],
      [`/v1/models/${path}/predictions`, { input: {} }],
      [`/replicate/v1/deployments/${path}/predictions`, { input: {} }],
      ["/v1/vendora/chat/completions", { model: path, messages: MESSAGES }],
    ] as const) {
      const { status, body: answer } = await stranger.json("POST", address, body);
      const { request_id: _, ...rest } = Object(answer);
      given.push([status, JSON.stringify(rest).replaceAll(path, "PATH")]);
    }
    return given;
  };
  const theirs = await answers(`${username}/${name}`);
  expect(theirs).toEqual(await answers(`${username}/absent`));
  expect(theirs.map(([status]) => status)).toEqual([404, 404, 404, 404, 404]);
});

test("the address of a deployment's predictions runs no model", async () => {
  const { client, model } = await newWorld();
  const { status } = await client.refused(`/v1/deployments/${model}/predictions`, { input: {} });
  expect(status).toBe(404);
});

test("a deployment without instances is off", async () => {
  const { client, username, model } = await newWorld();
  const { name } = await newDeployment(client, { model, max_instances: 0 });
  const path = `${username}/${name}`;
  const { status, body } = await client.refused("/v1/predictions", { model: path, input: {} });
  expect([status, body.detail]).toEqual([
    409,
    `The deployment '${path}' is off. Turn it on with PATCH /v1/deployments/${path}: set max_instances.`,
  ]);
});

test("a change counts at once for the next run", async () => {
  const { client, username, model, runner } = await newWorld();
  await publish(client, model);
  const { name } = await newDeployment(client, { model, version: 1 });
  const path = `${username}/${name}`;
  const first = await client.create({ model: path, input: {} });
  await client.ok("PATCH", `/v1/deployments/${path}`, { version: 2, max_concurrency: 3 });
  const second = await client.create({ model: path, input: {} });
  expect([first, second].map(({ body }) => body.model.version_number)).toEqual([1, 2]);
  const one = await runner(2);
  const [old, changed] = [await one.work(), await one.work()];
  expect([old, changed].map(({ job }) => job.limits.max_concurrency)).toEqual([1, 3]);
  for (const { channel } of [old, changed]) await channel.succeed("a");
  await client.ok("DELETE", `/v1/deployments/${path}`);
  const { status } = await client.refused("/v1/predictions", { model: path, input: {} });
  expect(status).toBe(404);
});

test("a repeated create with its key returns the prediction after a release of another model", async () => {
  const { client, username, model } = await newWorld();
  const { name } = await newDeployment(client, { model });
  await publish(client, model);
  const body = { model: `${username}/${name}`, input: {} };
  const headers = { "idempotency-key": unique("key") };
  const first = await client.create(body, headers);
  await client.ok("PATCH", `/v1/deployments/${username}/${name}`, { version: 2 });
  expect((await client.create(body, headers)).body.id).toBe(first.body.id);
});

test("deployments have Replicate's shape for its clients", async () => {
  const { client, username, model, hardware } = await newWorld();
  const BASE = "/replicate/v1/deployments";
  const versions = await client.ok<{ results: { id: string }[] }>(
    "GET",
    `/replicate/v1/models/${model}/versions`,
  );
  const [version] = versions.results.map(({ id }) => id);
  const request = { model, version, hardware, min_instances: 0, max_instances: 2 };
  const made = await client.json("POST", BASE, { name: "chat", ...request });
  expect(made.status).toBe(201);
  const deployment = replicateDeployment.strict().parse(made.body);
  expect(deployment).toMatchObject({
    owner: username,
    name: "chat",
    current_release: {
      number: 1,
      model,
      version,
      created_by: { type: "user", username },
      configuration: { hardware, min_instances: 0, max_instances: 2 },
    },
  });
  const path = `${BASE}/${username}/chat`;
  expect(await client.ok("GET", path)).toEqual(deployment);
  expect(await client.ok("GET", BASE)).toEqual({
    next: null,
    previous: null,
    results: [deployment],
  });
  expect(await client.ok("PATCH", path, { max_instances: 5 })).toMatchObject({
    current_release: { number: 2, version, configuration: { max_instances: 5 } },
  });
  const run = await client.json("POST", `${path}/predictions`, { input: {} });
  expect(replicatePrediction.parse(run.body)).toMatchObject({ model, version });
  expect((await client.json("DELETE", path)).status).toBe(204);
  expect((await client.json("GET", path)).status).toBe(404);
});
