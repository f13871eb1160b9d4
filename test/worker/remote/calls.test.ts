/** Calls of remote versions, by each API: what the host gets, and what callers get of its answers. */
import { describe, expect, test } from "vitest";
import { newBudget } from "../support/budgets.ts";
import { eventsOf, named } from "../support/events.ts";
import { addressOf, exchanged, freshPath, received, script } from "../support/receiver.ts";
import { completion, jsonOf, KEY, newRemoteWorld, streamOf } from "../support/remote.ts";

type RemoteWorld = Awaited<ReturnType<typeof newRemoteWorld>>;

const CHAT = { messages: [{ role: "user", content: "Hi" }] };

/** Runs a prediction to its end. */
const run = async ({ client, model }: RemoteWorld, input: object = CHAT) =>
  (await client.create({ model, input }, { prefer: "wait=20" })).body;

describe("a host with OpenAI's API", () => {
  test("a client of OpenAI gets the answer under the name that it has called", async () => {
    const world = await newRemoteWorld();
    await world.answers(completion("Hello"));
    const body = { model: world.model, ...CHAT };
    const answer = await world.client.ok("POST", "/v1/vendora/chat/completions", body);
    expect(answer).toMatchObject({
      model: world.model,
      choices: [{ message: { content: "Hello" } }],
      usage: { total_tokens: 9 },
    });
  });

  test("responses and messages are translated for a host that has only chats", async () => {
    const world = await newRemoteWorld();
    await world.answers(completion("Hello"));
    const { client, model } = world;
    expect(await client.ok("POST", "/v1/vendora/responses", { model, input: "Hi" })).toMatchObject({
      output: [{ content: [{ text: "Hello" }] }],
    });
    const message = { model, max_tokens: 10, ...CHAT };
    expect(await client.ok("POST", "/v1/vendorb/v1/messages", message)).toMatchObject({
      content: [{ type: "text", text: "Hello" }],
    });
  });

  test.each([429, 503])(
    "a call that is refused with %i for a while is made again",
    async (status) => {
      const world = await newRemoteWorld();
      await world.answers(jsonOf({}, status, { "retry-after": "0" }), completion("Hello"));
      expect(await run(world)).toMatchObject({ status: "succeeded" });
      expect(await world.requests()).toHaveLength(2);
    },
  );

  test("a call that is refused without a time is not made again", async () => {
    const world = await newRemoteWorld();
    const error = {
      message: "Slow down",
      type: "requests",
      param: null,
      code: "rate_limit_exceeded",
    };
    await world.answers(jsonOf({ error }, 429));
    expect(await run(world)).toMatchObject({
      status: "failed",
      error: { source: "external", message: "Slow down", detail: { status: 429, error } },
    });
    expect(await world.requests()).toHaveLength(1);
  });

  test.each([
    ["reset", "The remote host refused the connection, or closed it before it answered."],
    ["garbage", "The remote host refused the connection, or closed it before it answered."],
    ["short", "The connection to the remote host was lost."],
  ] as const)("a host that answers with '%s' fails the call", async (trouble, message) => {
    const world = await newRemoteWorld();
    await world.answers(trouble);
    expect(await run(world)).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  test("an answer without an end is broken off at the limit of outputs", async () => {
    const world = await newRemoteWorld();
    await world.answers("endless");
    expect(await run(world)).toMatchObject({
      error: { message: expect.stringContaining("The remote host's response is larger than") },
    });
    await world.over();
  });

  test("a redirect is not followed", async () => {
    const world = await newRemoteWorld();
    const elsewhere = freshPath();
    await world.answers({ status: 307, headers: { location: addressOf(elsewhere) } });
    expect(await run(world)).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("a redirect (307), which is not followed") },
    });
    expect(await received(elsewhere)).toEqual([]);
  });

  test("a key that the host repeats reaches neither outputs nor errors", async () => {
    const world = await newRemoteWorld();
    await world.answers(completion(`Your key is ${KEY}`), jsonOf({ error: { message: KEY } }, 400));
    const answered = await run(world);
    expect(answered).toMatchObject({ status: "succeeded" });
    const refused = await run(world);
    expect(refused).toMatchObject({ status: "failed", error: { message: "…" } });
    const events = await eventsOf(world.client.stream(answered.id));
    expect(JSON.stringify([answered, refused, events])).not.toContain(KEY);
  });

  test("a key that the host refuses is no error of the caller", async () => {
    const world = await newRemoteWorld();
    await world.answers(jsonOf({ error: { message: "no" } }, 401));
    const { error } = await run(world);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^The remote host refused the call .*'REMOTE_KEY'\.$/),
      detail: { status: 502 },
    });
  });

  test("a variable without a value is named", async () => {
    const world = await newRemoteWorld({ key_variable: "NOT_SET" });
    const { error } = await run(world);
    expect(error).toMatchObject({ message: expect.stringContaining("'NOT_SET'") });
    expect(await world.requests(0)).toEqual([]);
  });
});

test("a host with Anthropic's API gets messages and its own headers", async () => {
  const world = await newRemoteWorld({ api: "anthropic" });
  const usage = { input_tokens: 3, output_tokens: 4 };
  await world.answers(
    jsonOf({
      ...{ id: "m", type: "message", role: "assistant", model: "gpt-far", usage },
      ...{ content: [{ type: "text", text: "Hello" }], stop_reason: "end_turn" },
    }),
  );
  const message = { model: world.model, max_tokens: 10, ...CHAT };
  expect(await world.client.ok("POST", "/v1/vendorb/v1/messages", message)).toMatchObject({
    content: [{ type: "text", text: "Hello" }],
    model: world.model,
    usage,
  });
  const [request] = await world.requests();
  expect(request?.headers).toMatchObject({ "x-api-key": KEY, "anthropic-version": "2023-06-01" });
  expect(request?.headers).not.toHaveProperty("authorization");
});

describe("a host with Replicate's API", () => {
  const part = (output: string[], status: string, more: object = {}) =>
    jsonOf({ id: "p1", status, output, logs: output.join("\n"), error: null, ...more }, 200);

  test("a prediction there is followed to its end, item by item", async () => {
    const world = await newRemoteWorld({ api: "replicate", model: "ada/story" });
    await world.answers(part([], "starting"));
    const metrics = { predict_time: 1.5, output_token_count: 2 };
    await script(
      `${world.base}/predictions/p1`,
      part(["Once"], "processing"),
      part(["Once", " upon"], "succeeded", { metrics }),
    );
    const id = (await world.client.create({ model: world.model, input: { prompt: "x" } })).body.id;
    const events = await eventsOf(world.client.stream(id));
    expect(named(events, "output")).toEqual(["Once", " upon"]);
    expect(named(events, "logs").join("")).toBe("Once\n upon");
    expect(await world.client.get(id)).toMatchObject({
      status: "succeeded",
      output: ["Once", " upon"],
      metrics: { predict_time: 1.5, output_tokens: 2 },
    });
    const [request] = await world.requests();
    expect(JSON.parse(request?.body ?? "")).toEqual({
      version: "ada/story",
      input: { prompt: "x" },
    });
  });

  test("a key that the host repeats in its logs does not reach them", async () => {
    const world = await newRemoteWorld({ api: "replicate" });
    await world.answers(part([`key=${KEY}`], "succeeded"));
    const { id } = await run(world, {});
    const events = await eventsOf(world.client.stream(id));
    expect(named(events, "logs")).toEqual(["key=…"]);
    expect(JSON.stringify(events)).not.toContain(KEY);
  });

  test("a prediction that fails there fails with its error", async () => {
    const world = await newRemoteWorld({ api: "replicate" });
    await world.answers(part([], "failed", { error: "Out of memory" }));
    expect(await run(world, {})).toMatchObject({
      status: "failed",
      error: { source: "external", message: "Out of memory" },
    });
  });

  test("a cancel is passed on", async () => {
    const world = await newRemoteWorld({ api: "replicate" });
    await world.answers(part([], "processing"));
    await script(`${world.base}/predictions/p1`, part([], "processing"));
    const id = (await world.client.create({ model: world.model, input: {} })).body.id;
    await world.requests();
    await received(`${world.base}/predictions/p1`, 1);
    await world.client.cancel(id);
    await exchanged(`${world.base}/predictions/p1/cancel`);
  });
});

test("a run costs what its tokens do, and a hard budget refuses the next", async () => {
  const world = await newRemoteWorld();
  const { client, model } = world;
  const prices = { per_million_input_tokens: "100000", per_million_output_tokens: "100000" };
  await client.ok("PUT", `/v1/models/${model}/versions/1/prices`, { prices });
  await world.answers(streamOf("Hello"));
  expect(await run(world, { ...CHAT, stream: true })).toMatchObject({ cost: { amount: "0.9" } });
  await newBudget(client, { limit: "0", kind: "hard" });
  const refused = await client.json("POST", "/v1/predictions", { model, input: CHAT });
  expect(refused.status).toBe(402);
  expect(await world.requests()).toHaveLength(1);
});
