/** Chat completions of the OpenAI convention: whole answers, limits, repeats and callers that leave. */
import { afterEach, describe, expect, test } from "vitest";
import { expectChatCompletion } from "../../published/validate.ts";
import { eventually } from "../support/eventually.ts";
import {
  answer,
  chat,
  completion,
  dataOf,
  MESSAGES,
  newest,
  newOpenAi,
  predictionOf,
  usage,
} from "../support/openai.ts";
import { passes, startClock, stopClock } from "../support/time.ts";

const { client, model, fleet } = await newOpenAi();

afterEach(startClock);

describe("a plain chat", () => {
  test("a chat is answered with the container's completion, under the caller's name of the model", async () => {
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

  test("a chat is a prediction, which its answer names", async () => {
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
  ])(
    "a chat with %j whose container gives no finish_reason has the finish_reason %s",
    async (limit, reason) => {
      const [plain] = await Promise.all([chat(client, model, limit), answer(fleet, "on", " and")]);
      expect(await plain.json()).toMatchObject({ choices: [{ finish_reason: reason }] });
      const [streamed] = await Promise.all([
        chat(client, model, { ...limit, stream: true }),
        answer(fleet, "on", " and"),
      ]);
      expect((await dataOf(streamed)).at(-2)).toMatchObject({
        choices: [{ finish_reason: reason }],
      });
    },
  );

  test("a chat can name a version of the model", async () => {
    const [response] = await Promise.all([chat(client, `${model}:1`), answer(fleet, "text")]);
    expect(await response.json()).toMatchObject({ model: `${model}:1` });
  });

  test("a chat that is repeated with its Idempotency-Key does not run again", async () => {
    const headers = { "idempotency-key": "once" };
    const ask = () =>
      client.post("/v1/vendora/chat/completions", { model, messages: MESSAGES }, headers);
    const [first] = await Promise.all([ask(), answer(fleet, "text")]);
    const second = await ask();
    expect(predictionOf(second)).toBe(predictionOf(first));
    expect(await second.json()).toEqual(await first.json());
  });

  test("a chat is cancelled when its caller leaves", async () => {
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

  test("a chat is cancelled after 390 s, and answered with a 504 that is not to be retried", async () => {
    stopClock();
    const { client: caller, model: slow } = await newOpenAi();
    const asked = chat(caller, slow);
    const id = await eventually(() => newest(caller));
    await passes(390, id);
    const response = await asked;
    expect(response.status).toBe(504);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(predictionOf(response)).toBe(id);
    const message = expect.stringContaining("POST /v1/predictions");
    expect(await response.json()).toMatchObject({ error: { code: "timeout", message } });
    expect(await caller.status(id)).toBe("canceled");
  });
});
