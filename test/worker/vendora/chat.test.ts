/** Chat completions of the vendora convention: plain, streamed, failed, left. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import {
  expectChatChunk,
  expectChatCompletion,
  expectErrorBody,
} from "../../published/validate.ts";
import { eventually, passes, startClock, stopClock } from "../support/time.ts";
import {
  answer,
  chat,
  chunk,
  completion,
  dataOf,
  failed,
  finish,
  MESSAGES,
  newest,
  newVendora,
  put,
  refused,
  usage,
} from "../support/vendora.ts";

const { client, model, fleet, username } = await newVendora();

afterEach(startClock);

const predictionOf = ({ headers }: Response) => headers.get("auspex-prediction-id") ?? "";

describe("a plain one", () => {
  test("is the container's, as the caller knows the model", async () => {
    const body = { temperature: 0.5, some_field: { of: "ours" } };
    const [response, job] = await Promise.all([
      chat(client, model, body),
      answer(fleet, completion("on and on")),
    ]);
    expect(job).toMatchObject({ call: "chat_completions", interface: "vendora" });
    expect(job.input).toEqual({ model, messages: MESSAGES, ...body });
    expect(response.status).toBe(200);
    const answered = await response.json();
    expectChatCompletion(answered);
    expect(answered).toMatchObject({
      id: `chatcmpl-${job.prediction_id.replaceAll("-", "")}`,
      model,
      choices: [{ message: { content: "on and on" }, finish_reason: "stop" }],
      usage,
    });
  });

  test("is a prediction, which its answer names", async () => {
    const [response, job] = await Promise.all([chat(client, model), answer(fleet, "text")]);
    expect(predictionOf(response)).toBe(job.prediction_id);
    expect(response.headers.get("location")).toBe(`/v1/predictions/${job.prediction_id}`);
    const { input, metrics, status } = await client.get(job.prediction_id);
    expect({ input, status }).toEqual({
      input: { model, messages: MESSAGES },
      status: "succeeded",
    });
    expect(metrics).toEqual({ input_tokens: 3, output_tokens: 2 });
  });

  test.each([
    [{ max_tokens: 2 }, "length"],
    [{ max_completion_tokens: 2 }, "length"],
    [{ max_tokens: 3 }, "stop"],
  ])("of %j, whose end has no reason, was cut if it is as long: %s", async (limit, reason) => {
    const [plain] = await Promise.all([chat(client, model, limit), answer(fleet, "on", " and")]);
    expect(await plain.json()).toMatchObject({ choices: [{ finish_reason: reason }] });
    const [streamed] = await Promise.all([
      chat(client, model, { ...limit, stream: true }),
      answer(fleet, "on", " and"),
    ]);
    expect((await dataOf(streamed)).at(-2)).toMatchObject({
      choices: [{ finish_reason: reason }],
    });
  });

  test("can be of a certain version", async () => {
    const [response] = await Promise.all([chat(client, `${model}:1`), answer(fleet, "text")]);
    expect(await response.json()).toMatchObject({ model: `${model}:1` });
  });

  test("asked again with the same Idempotency-Key does not run again", async () => {
    const headers = { "idempotency-key": "once" };
    const ask = () =>
      client.post("/v1/vendora/chat/completions", { model, messages: MESSAGES }, headers);
    const [first] = await Promise.all([ask(), answer(fleet, "text")]);
    const second = await ask();
    expect(predictionOf(second)).toBe(predictionOf(first));
    expect(await second.json()).toEqual(await first.json());
  });

  test("whose caller leaves is cancelled", async () => {
    const leaving = new AbortController();
    const asked = client.fetch("/v1/vendora/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model, messages: MESSAGES }),
      signal: leaving.signal,
    });
    const { job, channel } = await fleet.work();
    leaving.abort();
    await expect(asked).rejects.toThrow();
    expect(await channel.next()).toMatchObject({
      type: "cancel",
      reason: "its caller has disconnected",
    });
    await channel.report([], { status: "canceled", output: "none" });
    expect(await client.status(job.prediction_id)).toBe("canceled");
  });

  test("that takes too long is cancelled by itself: 504, and not to be tried again", async () => {
    stopClock();
    const { client: caller, model: slow } = await newVendora();
    const asked = chat(caller, slow);
    const id = await eventually(() => newest(caller));
    await passes(600, id);
    const response = await asked;
    expect(response.status).toBe(504);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(predictionOf(response)).toBe(id);
    expect(await response.json()).toMatchObject({ error: { code: "timeout" } });
    expect(await caller.status(id)).toBe("canceled");
  });
});

describe("a streamed one", () => {
  test("comes chunk by chunk, with ids that resume the event log", async () => {
    const asked = chat(client, model, { stream: true });
    const { job, channel } = await fleet.work();
    await put(channel, chunk({ role: "assistant", content: "" }), chunk({ content: "on" }));
    const response = await asked;
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(predictionOf(response)).toBe(job.prediction_id);
    await channel.report([{ event: "output", data: chunk({ content: " and on" }, "length") }], {
      status: "succeeded",
      output: "items",
    });
    const text = await response.text();
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    const data = await dataOf(new Response(text));
    expect(data.pop()).toBe("[DONE]");
    for (const one of data) expectChatChunk(one);
    expect(data).toMatchObject([
      { model, choices: [{ delta: { role: "assistant" } }] },
      { choices: [{ delta: { content: "on" } }] },
      { choices: [{ delta: { content: " and on" }, finish_reason: "length" }] },
    ]);
    const rest = await client.stream(job.prediction_id, `?after_id=${ids[1]}`);
    const replayed = await dataOf(rest);
    expect(replayed[0]).toMatchObject({ choices: [{ delta: { content: " and on" } }] });
  });

  test("goes on when the control plane is restarted meanwhile", async () => {
    const asked = chat(client, model, { stream: true });
    const { job, channel } = await fleet.work();
    await put(channel, "on");
    const response = await asked;
    await abortAllDurableObjects();
    const again = await fleet.connect(job);
    await finish(again, [" and", " on"]);
    const data = await dataOf(response);
    expect(data.pop()).toBe("[DONE]");
    for (const one of data) expectChatChunk(one);
    const text = data.map((one) => JSON.stringify(one)).join("");
    expect([...text.matchAll(/"content":"([^"]+)"/g)].map(([, word]) => word)).toEqual([
      "on",
      " and",
      " on",
    ]);
  });

  test("has usage only when that is asked for", async () => {
    const values = [chunk({ role: "assistant", content: "on" }, "stop"), { choices: [], usage }];
    const ask = async (more: object) => {
      const [response] = await Promise.all([
        chat(client, model, { stream: true, ...more }),
        answer(fleet, ...values),
      ]);
      return dataOf(response);
    };
    expect(JSON.stringify(await ask({}))).not.toContain("usage");
    const [first, last] = await ask({ stream_options: { include_usage: true } });
    expect([first, last]).toMatchObject([{ usage: null }, { choices: [], usage }]);
  });

  test("is made of plain text too", async () => {
    const [response] = await Promise.all([
      chat(client, model, { stream: true }),
      answer(fleet, "on", " and", " on"),
    ]);
    const data = await dataOf(response);
    for (const one of data.slice(0, -1)) expectChatChunk(one);
    expect(JSON.stringify(data)).toContain('"finish_reason":"stop"');
  });

  test("that fails before its first word is an error with a status", async () => {
    const asked = chat(client, model, { stream: true });
    const { channel } = await fleet.work();
    const error = {
      message: "too long",
      type: "invalid_request_error",
      param: "messages",
      code: "x",
    };
    await channel.report([], refused(400, error));
    const response = await asked;
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error });
  });

  test("that fails after it ends with an error, and without [DONE]", async () => {
    const asked = chat(client, model, { stream: true });
    const { channel } = await fleet.work();
    await put(channel, "on");
    const response = await asked;
    await channel.report([], failed("external", "out of memory"));
    const data = await dataOf(response);
    expect(data.at(-1)).toMatchObject({ error: { message: "out of memory" } });
    expectErrorBody(data.at(-1));
  });

  test("whose reader leaves is cancelled", async () => {
    const asked = chat(client, model, { stream: true });
    const { job, channel } = await fleet.work();
    await put(channel, "on");
    const { body } = await asked;
    await body?.cancel();
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([], { status: "canceled", output: "none" });
    expect(await client.status(job.prediction_id)).toBe("canceled");
  });

  test("whose caller leaves before its first word is cancelled", async () => {
    const leaving = new AbortController();
    const asked = client.fetch("/v1/vendora/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model, messages: MESSAGES, stream: true }),
      signal: leaving.signal,
    });
    const { job, channel } = await fleet.work();
    leaving.abort();
    await expect(asked).rejects.toThrow();
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([], { status: "canceled", output: "none" });
    expect(await client.status(job.prediction_id)).toBe("canceled");
  });

  test("whose caller has left before it has begun does not stay", async () => {
    const asked = client.fetch("/v1/vendora/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model, messages: MESSAGES }),
      signal: AbortSignal.timeout(1),
    });
    await expect(asked).rejects.toThrow();
    // Where it has begun: the list follows later.
    const id = await eventually(() => newest(client));
    await eventually(async () => expect(await client.status(id)).toBe("canceled"));
  });

  test("with an Idempotency-Key goes on without its caller, who may come back for it", async () => {
    const ask = (signal: AbortSignal | null) =>
      client.fetch("/v1/vendora/chat/completions", {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": "back" },
        body: JSON.stringify({ model, messages: MESSAGES, stream: true }),
        signal,
      });
    const leaving = new AbortController();
    const asked = ask(leaving.signal);
    const { channel } = await fleet.work();
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await finish(channel, ["on", " and on"]);
    const data = await dataOf(await ask(null));
    expect(data.at(-1)).toBe("[DONE]");
    expect(JSON.stringify(data)).toContain(" and on");
  });

  test.each([undefined, "lag"])(
    "whose data is removed before it was read does not look whole (key: %s)",
    async (key) => {
      const headers: Record<string, string> = key ? { "idempotency-key": key } : {};
      const body = { model, messages: MESSAGES, stream: true };
      const asked = client.post("/v1/vendora/chat/completions", body, headers);
      const { job, channel } = await fleet.work();
      await put(channel, "on");
      const response = await asked;
      for (let n = 0; n < 20; n++) await put(channel, "x".repeat(200_000));
      await channel.report([], { status: "succeeded", output: "items" });
      await client.ok("DELETE", `/v1/predictions/${job.prediction_id}`);
      const data = await dataOf(response);
      expect(data.at(-1)).toMatchObject({ error: { code: "server_error" } });
      if (!key) return;
      // There is nothing to answer with, and to run again is not what a key is for.
      const again = await client.post("/v1/vendora/chat/completions", body, headers);
      expect(again.status).toBe(404);
    },
  );

  test("tells what came right before it failed, too", async () => {
    const asked = chat(client, model, { stream: true });
    const { channel } = await fleet.work();
    await put(channel, "first");
    const response = await asked;
    const last: ReportedEvent[] = [
      { event: "output", data: " second" },
      { event: "output", data: " third" },
    ];
    await channel.report(last, failed("external", "out of memory"));
    const data = await dataOf(response);
    const text = data.map((one) => JSON.stringify(one)).join("");
    expect(text).toMatch(/first.* second.* third.*out of memory/);
  });

  test("of something that is no text is the model's error", async () => {
    const [response] = await Promise.all([
      chat(client, model, { stream: true }),
      answer(fleet, { width: 5 }, { width: 6 }),
    ]);
    expect((await dataOf(response)).at(-1)).toMatchObject({ error: { code: "model_error" } });
  });
});

describe("a failure", () => {
  const about = { message: "no", type: "t", param: "top_p", code: "c" };
  const cases = [
    [refused(422, about), 422, about],
    [refused(429, about), 429, about],
    [refused(401, about), 502, { code: "model_error" }],
    [failed("external", "it crashed"), 502, { message: "it crashed", code: "model_error" }],
    [failed("internal", "no runner"), 500, { message: "no runner", code: "server_error" }],
  ] as const;

  test.each(cases)("%j is a %i", async (finish, status, error) => {
    const asked = chat(client, model);
    const { channel } = await fleet.work();
    await channel.report([], finish);
    const response = await asked;
    expect(response.status).toBe(status);
    expect(response.headers.get("x-should-retry")).toBe(status === 429 ? null : "false");
    const body = await response.json();
    expectErrorBody(body);
    const detail = status === 422 ? { detail: [{ loc: ["body", "top_p"], msg: "no" }] } : {};
    expect(body).toMatchObject({ error, ...detail });
  });

  test("a cancel by somebody else is a 400", async () => {
    const asked = chat(client, model);
    const { job, channel } = await fleet.work();
    await client.cancel(job.prediction_id);
    await channel.next();
    await channel.report([], { status: "canceled", output: "none" });
    const response = await asked;
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "canceled" } });
  });
});

describe("a request", () => {
  test.each([
    [`${username}/none`, "model_not_found"],
    ["nonsense", "model_not_found"],
    [`${model}:99`, "model_not_found"],
  ])("of %s is a 404, whatever else is wrong with it", async (unknown, code) => {
    const response = await chat(client, unknown, { messages: "nonsense" });
    expect(response.status).toBe(404);
    const body = await response.json();
    expectErrorBody(body);
    expect(body).toMatchObject({ error: { code, param: "model" } });
  });

  test("of a name of 200 characters of any kind is a 404 too", async () => {
    expect((await chat(client, "🐙".repeat(200))).status).toBe(404);
  });

  test("of a version without the compatibility is a 400 that says so", async () => {
    const { client: other, model: bare } = await newVendora({ compatibilities: {} });
    const response = await chat(other, bare);
    expect(response.status).toBe(400);
    const { error } = await response.json<{ error: { message: string; code: string } }>();
    expect(error).toMatchObject({ code: "unsupported_model", param: "model" });
    expect(error.message).toContain("vendora_chat_completions");
  });

  test.each([
    [{ messages: undefined }, "messages", "missing_required_parameter"],
    [{ messages: [{ role: 5 }] }, "messages[0].role", "invalid_type"],
    [{ messages: [] }, "messages", "invalid_value"],
    [{ stream: "yes" }, "stream", "invalid_type"],
    [{ model: undefined }, "model", "missing_required_parameter"],
    [{ model: "" }, "model", "invalid_value"],
    [{ model: "x".repeat(201) }, "model", "invalid_value"],
  ])("%j is a 422 with both bodies", async (wrong, param, code) => {
    const response = await chat(client, model, wrong);
    expect(response.status).toBe(422);
    const body = await response.json();
    expectErrorBody(body);
    expect(body).toMatchObject({
      detail: [{ loc: ["body", ...param.split(/[.[\]]+/).filter(Boolean)] }],
      error: { param, code, type: "invalid_request_error" },
    });
  });

  test("without a token, without JSON, at no address: in the convention's words", async () => {
    const path = "/v1/vendora/chat/completions";
    const responses = await Promise.all([
      client.fetch(path, { method: "POST", headers: { authorization: "Bearer nonsense" } }),
      client.fetch(path, { method: "POST", headers: { "content-type": "text/plain" }, body: "a" }),
      client.post(path, "{"),
      client.fetch("/v1/vendora/nothing"),
      client.fetch(path),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([401, 415, 422, 404, 405]);
    for (const response of responses) {
      expect(response.headers.get("x-request-id")).toMatch(/./);
      expectErrorBody(await response.json());
    }
  });
});
