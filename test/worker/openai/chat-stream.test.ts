/** Streamed chat completions: their chunks, failures on the way, and readers that leave. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import { expectChatChunk, expectErrorBody } from "../../published/validate.ts";
import { eventually } from "../support/eventually.ts";
import {
  answer,
  chat,
  chunk,
  dataOf,
  failed,
  finish,
  MESSAGES,
  newest,
  newOpenAi,
  predictionOf,
  put,
  refused,
  usage,
} from "../support/openai.ts";
import { passes, startClock, stopClock } from "../support/time.ts";

const { client, model, fleet } = await newOpenAi();

afterEach(startClock);

describe("a streamed chat", () => {
  test("a streamed chat sends each chunk with an id that resumes the event log", async () => {
    const asked = chat(client, model, { stream: true });
    const { job, channel } = await fleet.work();
    await put(channel, chunk({ role: "assistant", content: "" }), chunk({ content: "on" }));
    const response = await asked;
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
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

  test("a streamed chat may take 600 s, because its heartbeats keep the connection open", async () => {
    stopClock();
    const world = await newOpenAi();
    const asked = chat(world.client, world.model, { stream: true });
    const id = await eventually(() => newest(world.client));
    await passes(599, id);
    expect(await world.client.status(id)).toBe("pending");
    await passes(1, id);
    expect((await asked).status).toBe(504);
    expect(await world.client.status(id)).toBe("canceled");
  });

  test("a streamed chat goes on after a restart of the control plane", async () => {
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

  test("a streamed chat has usage only if the caller asks for it", async () => {
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

  test("a streamed chat can be made from outputs of plain text", async () => {
    const [response] = await Promise.all([
      chat(client, model, { stream: true }),
      answer(fleet, "on", " and", " on"),
    ]);
    const data = await dataOf(response);
    for (const one of data.slice(0, -1)) expectChatChunk(one);
    expect(JSON.stringify(data)).toContain('"finish_reason":"stop"');
  });

  test("a streamed chat that fails before its first word is an error with a status", async () => {
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

  test("a streamed chat that fails after its first word ends with an error, without [DONE]", async () => {
    const asked = chat(client, model, { stream: true });
    const { channel } = await fleet.work();
    await put(channel, "on");
    const response = await asked;
    await channel.report([], failed("external", "out of memory"));
    const data = await dataOf(response);
    expect(data.at(-1)).toMatchObject({ error: { message: "out of memory" } });
    expectErrorBody(data.at(-1));
  });

  test("a streamed chat is cancelled when its reader leaves", async () => {
    const asked = chat(client, model, { stream: true });
    const { job, channel } = await fleet.work();
    await put(channel, "on");
    const { body } = await asked;
    await body?.cancel();
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([], { status: "canceled", output: "none" });
    expect(await client.status(job.prediction_id)).toBe("canceled");
  });

  test("a streamed chat is cancelled when its caller leaves before its first word", async () => {
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

  test("a chat whose caller has left before it has begun is cancelled", async () => {
    const asked = client.fetch("/v1/vendora/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model, messages: MESSAGES }),
      signal: AbortSignal.timeout(1),
    });
    await expect(asked).rejects.toThrow();
    // The account's list can show the new prediction some time after the abort.
    const id = await eventually(() => newest(client));
    await eventually(async () => expect(await client.status(id)).toBe("canceled"));
  });

  test("a streamed chat with an Idempotency-Key goes on without its caller, who may resume it", async () => {
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
    "a streamed chat whose data is removed while it is read ends with an error (key: %s)",
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
      // The key finds a prediction without data, and must not run it a second time.
      const again = await client.post("/v1/vendora/chat/completions", body, headers);
      expect(again.status).toBe(404);
    },
  );

  test("a streamed chat sends the outputs that arrive together with its failure", async () => {
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

  test("a streamed chat whose outputs are no text ends with a model_error", async () => {
    const [response] = await Promise.all([
      chat(client, model, { stream: true }),
      answer(fleet, { width: 5 }, { width: 6 }),
    ]);
    expect((await dataOf(response)).at(-1)).toMatchObject({ error: { code: "model_error" } });
  });
});
