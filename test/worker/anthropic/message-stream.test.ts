import { afterEach, describe, expect, test } from "vitest";
import { ask, eventsOf } from "../support/anthropic.ts";
import { answer, chunk, newOpenAi, predictionOf, put } from "../support/openai.ts";
import { startClock } from "../support/time.ts";

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
});
