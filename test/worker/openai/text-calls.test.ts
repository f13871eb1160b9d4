/** Calls of both conventions that write text: what holds for each of them, whole and streamed. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import { checkedError } from "../../published/anthropic.ts";
import { expectErrorBody } from "../../published/validate.ts";
import { eventually } from "../support/eventually.ts";
import {
  answer,
  type completion,
  failed,
  finish,
  MESSAGES,
  newest,
  newOpenAi,
  predictionOf,
  put,
  refused,
} from "../support/openai.ts";
import { passes, startClock, stopClock } from "../support/time.ts";

const world = await newOpenAi();
const { client, model, fleet } = world;

afterEach(startClock);

interface Call {
  path: string;
  body: object;
  /** A whole output of a container. */
  whole?: ReturnType<typeof completion>;
  /** Matches the words of a stream. */
  words: RegExp;
  /** The last line of a stream that has not failed. */
  end: RegExp;
  canceled: object;
  late: object;
}

const openai = { canceled: { code: "canceled" }, late: { code: "timeout" } };

const CALLS: [string, Call][] = [
  [
    "a chat",
    {
      ...openai,
      path: "/v1/vendora/chat/completions",
      body: { messages: MESSAGES },
      words: /"content":"([^"]+)"/g,
      end: /^data: \[DONE\]$/m,
    },
  ],
  [
    "a completion",
    {
      ...openai,
      path: "/v1/vendora/completions",
      body: { prompt: "Go on" },
      whole: { choices: [{ index: 0, text: "on", finish_reason: "stop" }] },
      words: /"text":"([^"]+)"/g,
      end: /^data: \[DONE\]$/m,
    },
  ],
  [
    "a response",
    {
      ...openai,
      path: "/v1/vendora/responses",
      body: { input: "Go on" },
      words: /"delta":"([^"]+)"/g,
      end: /^event: response\.completed$/m,
    },
  ],
  [
    "a message",
    {
      path: "/v1/vendorb/messages",
      body: { messages: MESSAGES, max_tokens: 100 },
      words: /"text":"([^"]+)"/g,
      end: /^event: message_stop$/m,
      canceled: { type: "invalid_request_error" },
      late: { type: "timeout_error" },
    },
  ],
];

describe.each(CALLS)("%s", (name, { path, body, whole = "on", words, end, canceled, late }) => {
  const isMessage = name === "a message";

  const ask = (more: object = {}, headers: Record<string, string> = {}, of = world) =>
    of.client.post(path, { model: of.model, ...body, ...more }, headers);

  /** Asks as a caller who can leave. */
  function leavable(more: object = {}, headers: Record<string, string> = {}) {
    const leaving = new AbortController();
    const asked = client.fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ model, ...body, ...more }),
      signal: leaving.signal,
    });
    return async () => {
      leaving.abort();
      await expect(asked).rejects.toThrow();
    };
  }

  async function errorOf(asked: Promise<Response>) {
    const response = await asked;
    const error = await response.json<{ error: object }>();
    if (isMessage) checkedError(error);
    else expectErrorBody(error);
    const retry = response.headers.get("x-should-retry");
    return { status: response.status, retry, ...error.error };
  }

  /** Waits for the cancel at the runner, which obeys. */
  async function expectCanceled({ job, channel }: Awaited<ReturnType<typeof fleet.work>>) {
    const reason = "its caller has disconnected";
    expect(await channel.next()).toMatchObject({ type: "cancel", reason });
    await channel.report([], { status: "canceled", output: "none" });
    expect(await client.status(job.prediction_id)).toBe("canceled");
  }

  test("a call is a prediction, which its answer names", async () => {
    const [response, job] = await Promise.all([ask({ model: `${model}:1` }), answer(fleet, whole)]);
    expect(predictionOf(response)).toBe(job.prediction_id);
    expect(response.headers.get("location")).toBe(`/v1/predictions/${job.prediction_id}`);
    expect(await response.json()).toMatchObject({ model: `${model}:1` });
    expect(await client.get(job.prediction_id)).toMatchObject({
      input: { ...body, model: `${model}:1` },
      status: "succeeded",
      metrics: { input_tokens: 3, output_tokens: 2 },
    });
  });

  test("a call that is repeated with its Idempotency-Key does not run again", async () => {
    const headers = { "idempotency-key": `once ${name}` };
    const [first] = await Promise.all([ask({}, headers), answer(fleet, whole)]);
    const second = await ask({}, headers);
    expect(predictionOf(second)).toBe(predictionOf(first));
    expect(await second.json()).toEqual(await first.json());
    const other = ask({ temperature: 0.5 }, headers);
    expect(await errorOf(other)).toMatchObject({ status: 409, retry: "false" });
  });

  test.each([false, true])(
    "a call is cancelled when its caller leaves (stream: %s)",
    async (stream) => {
      const leave = leavable({ stream });
      const work = await fleet.work();
      await leave();
      await expectCanceled(work);
    },
  );

  test("a streamed call is cancelled when its reader leaves", async () => {
    const asked = ask({ stream: true });
    const work = await fleet.work();
    await put(work.channel, "on");
    await (await asked).body?.cancel();
    await expectCanceled(work);
  });

  test("a streamed call with an Idempotency-Key goes on without its caller, who may resume it", async () => {
    const headers = { "idempotency-key": `back ${name}` };
    const leave = leavable({ stream: true }, headers);
    const { channel } = await fleet.work();
    await leave();
    await finish(channel, ["on", " and on"]);
    const text = await (await ask({ stream: true }, headers)).text();
    expect(text).toMatch(end);
    expect(text).toContain(" and on");
    // The events are made from the stored log, so that each reader gets the same ones.
    expect(await (await ask({ stream: true }, headers)).text()).toBe(text);
  });

  test.each([
    [false, 390],
    [true, 600],
  ])(
    "a call is cancelled with a 504 when it takes too long (stream: %s, %i s)",
    async (stream, most) => {
      stopClock();
      const slow = await newOpenAi();
      const asked = ask({ stream }, {}, slow);
      const id = await eventually(() => newest(slow.client));
      await passes(most - 1, id);
      expect(await slow.client.status(id)).toBe("pending");
      await passes(1, id);
      expect(await errorOf(asked)).toMatchObject({ status: 504, retry: "false", ...late });
      expect(await slow.client.status(id)).toBe("canceled");
    },
  );

  test("a streamed call goes on after a restart of the control plane", async () => {
    const asked = ask({ stream: true });
    const { job, channel } = await fleet.work();
    await put(channel, "on");
    const response = await asked;
    await abortAllDurableObjects();
    await finish(await fleet.connect(job), [" and", " on"]);
    const text = await response.text();
    const found = [...text.matchAll(words)].map(([, word]) => word);
    expect(found.slice(0, 3)).toEqual(["on", " and", " on"]);
    expect(text).toMatch(end);
  });

  test("a streamed call that fails before its first word is an error with a status", async () => {
    const asked = ask({ stream: true });
    const { channel } = await fleet.work();
    const error = { message: "too long", type: "invalid_request_error", param: "stop", code: "x" };
    await channel.report([], refused(400, error));
    const message = isMessage ? { message: "stop: too long" } : error;
    expect(await errorOf(asked)).toMatchObject({ status: 400, ...message });
  });

  test("a streamed call that fails after its first word sends its outputs and the error, without its end", async () => {
    const asked = ask({ stream: true });
    const { channel } = await fleet.work();
    await put(channel, "first");
    const response = await asked;
    const last = [" second", " third"].map((data) => ({ event: "output" as const, data }));
    await channel.report(last, failed("external", "out of memory"));
    const text = await response.text();
    expect(text).toMatch(/first.* second.* third.*out of memory/s);
    expect(text).not.toMatch(end);
  });

  test("a streamed call whose outputs are no text ends with an error", async () => {
    const [response] = await Promise.all([ask({ stream: true }), answer(fleet, "a", { width: 6 })]);
    const text = await response.text();
    expect(text).toMatch(/"(?:model_error|api_error|server_error)"/);
    expect(text).not.toMatch(end);
  });

  test("a call that somebody else cancels is a 400", async () => {
    const asked = ask();
    const { job, channel } = await fleet.work();
    await client.cancel(job.prediction_id);
    await channel.next();
    await channel.report([], { status: "canceled", output: "none" });
    expect(await errorOf(asked)).toMatchObject({ status: 400, ...canceled });
  });
});
