import { afterEach, describe, expect, test } from "vitest";
import { expectChatChunk } from "../../published/validate.ts";
import { eventually } from "../support/eventually.ts";
import {
  answer,
  chat,
  chunk,
  dataOf,
  MESSAGES,
  newest,
  newOpenAi,
  predictionOf,
  put,
  usage,
} from "../support/openai.ts";
import { startClock } from "../support/time.ts";

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
});
