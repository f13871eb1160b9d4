/** Streamed messages: their events, failures on the way, and readers that leave. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import { checkedError, checkedEvents } from "../../published/anthropic.ts";
import { ask, asking, errorOf, eventsOf, PATH, toldBy } from "../support/anthropic.ts";
import { eventually } from "../support/eventually.ts";
import {
  answer,
  chunk,
  failed,
  finish,
  newest,
  newOpenAi,
  predictionOf,
  put,
  refused,
} from "../support/openai.ts";
import { passes, startClock, stopClock } from "../support/time.ts";

const { client, model, fleet } = await newOpenAi();

afterEach(startClock);

const stream = (more: object = {}, headers: Record<string, string> = {}) =>
  ask(client, model, { stream: true, ...more }, headers);

describe("a streamed message", () => {
  test("a streamed message sends each event with an id that resumes the event log", async () => {
    const asked = stream();
    const { job, channel } = await fleet.work();
    await put(channel, chunk({ role: "assistant", content: "" }), chunk({ content: "on" }));
    const response = await asked;
    expect(predictionOf(response)).toBe(job.prediction_id);
    await channel.report([{ event: "output", data: chunk({ content: " and on" }, "length") }], {
      status: "succeeded",
      output: "items",
    });
    const text = await response.text();
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    const events = await eventsOf(new Response(text, response));
    expect(events).toMatchObject([
      { type: "message_start", message: { model, content: [] } },
      { type: "content_block_start", content_block: { type: "text" } },
      { delta: { text: "on" } },
      { delta: { text: " and on" } },
      { type: "content_block_stop" },
      { delta: { stop_reason: "max_tokens" } },
      { type: "message_stop" },
    ]);
  });

  test("a streamed message of a container that has messages is rebuilt from its events", async () => {
    const [response] = await Promise.all([
      stream(),
      answer(
        fleet,
        { type: "message_start", message: { usage: { input_tokens: 4, output_tokens: 0 } } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "on" } },
        { type: "content_block_stop", index: 0 },
        {
          type: "message_delta",
          delta: { stop_reason: "end_turn", stop_sequence: null },
          usage: { output_tokens: 1 },
        },
        { type: "message_stop" },
      ),
    ]);
    const events = await eventsOf(response);
    expect(events[0]).toMatchObject({ message: { model, usage: { input_tokens: 4 } } });
    expect(events.at(-2)).toMatchObject({ usage: { input_tokens: 4, output_tokens: 1 } });
  });

  test("a streamed message may take 600 s, because its heartbeats keep the connection open", async () => {
    stopClock();
    const world = await newOpenAi();
    const asked = ask(world.client, world.model, { stream: true });
    const id = await eventually(() => newest(world.client));
    await passes(599, id);
    expect(await world.client.status(id)).toBe("pending");
    await passes(1, id);
    expect(await errorOf(asked)).toMatchObject({ status: 504, type: "timeout_error" });
    expect(await world.client.status(id)).toBe("canceled");
  });

  test("a streamed message goes on after a restart of the control plane", async () => {
    const asked = stream();
    const { job, channel } = await fleet.work();
    await put(channel, "on");
    const response = await asked;
    await abortAllDurableObjects();
    const again = await fleet.connect(job);
    await finish(again, [" and", " on"]);
    const texts = (await eventsOf(response)).flatMap((event) =>
      event.type === "content_block_delta" && event.delta.type === "text_delta"
        ? [event.delta.text]
        : [],
    );
    expect(texts).toEqual(["on", " and", " on"]);
  });

  test("a streamed message that fails before its first word is an error with a status", async () => {
    const asked = stream();
    const { channel } = await fleet.work();
    const error = { message: "too long", type: "x", param: "messages.0", code: "x" };
    await channel.report([], refused(400, error));
    expect(await errorOf(asked)).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      message: "messages.0: too long",
    });
  });

  test("a streamed message that fails after its first word ends with an error, without message_stop", async () => {
    const asked = stream();
    const { channel } = await fleet.work();
    await put(channel, "on");
    const response = await asked;
    await channel.report([], failed("external", "out of memory"));
    const events = await toldBy(response);
    expect(checkedError(events.pop())).toMatchObject({
      error: { type: "api_error", message: "out of memory" },
    });
    checkedEvents(events, false);
  });

  test("a streamed message whose outputs are no text ends with an api_error", async () => {
    const [response] = await Promise.all([stream(), answer(fleet, "a", { width: 6 })]);
    const events = await toldBy(response);
    expect(checkedError(events.pop())).toMatchObject({ error: { type: "api_error" } });
  });

  test("a streamed message is cancelled when its reader leaves", async () => {
    const asked = stream();
    const { job, channel } = await fleet.work();
    await put(channel, "on");
    const { body } = await asked;
    await body?.cancel();
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([], { status: "canceled", output: "none" });
    expect(await client.status(job.prediction_id)).toBe("canceled");
  });

  test("a streamed message with an Idempotency-Key goes on without its caller, who may resume it", async () => {
    const leaving = new AbortController();
    const headers = { "content-type": "application/json", "idempotency-key": "back" };
    const body = JSON.stringify(asking(model, { stream: true }));
    const asked = client.fetch(PATH, { method: "POST", headers, body, signal: leaving.signal });
    const { channel } = await fleet.work();
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await finish(channel, ["on", " and on"]);
    const again = await stream({}, { "idempotency-key": "back" });
    const first = await toldBy(again);
    checkedEvents(first);
    // The events are made from the stored log, so that each reader gets the same ones.
    const third = await stream({}, { "idempotency-key": "back" });
    expect(await toldBy(third)).toEqual(first);
  });
});
