/** Responses of the OpenAI convention: plain ones, streams and their replays, and refusals. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import { answer, chunk, failed, finish, newOpenAi, put } from "../support/openai.ts";
import {
  eventsOf,
  newResponses,
  numbersOf,
  PATH,
  refusal,
  resource,
  text,
  upTo,
} from "../support/openai-responses.ts";
import { startClock } from "../support/time.ts";

const { client, model, fleet, create, read, completed } = await newResponses();

afterEach(startClock);

describe("a response that is waited for", () => {
  test("a response is completed, and can be read later", async () => {
    const [response, job] = await Promise.all([
      create({ metadata: { a: "b" } }),
      answer(fleet, "on"),
    ]);
    expect(job).toMatchObject({ call: "responses", input: { input: "Go on" } });
    expect(response.headers.get("auspex-prediction-id")).toBe(job.prediction_id);
    const created = await resource(response);
    expect(created).toMatchObject({
      id: `resp_${job.prediction_id.replaceAll("-", "")}`,
      status: "completed",
      model,
      metadata: { a: "b" },
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    });
    expect(text(created)).toBe("on");
    expect(await read(created.id)).toEqual(created);
  });

  test("a response that reaches max_output_tokens is incomplete, also when it is read later", async () => {
    const found = await completed({ max_output_tokens: 2 });
    expect(found).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    });
    expect(await read(found.id)).toEqual(found);
    const events = await eventsOf(await client.fetch(`${PATH}/${found.id}?stream=true`));
    expect(events.at(-1)).toMatchObject({ type: "response.incomplete", response: found });
  });

  test("a response whose model fails is a resource with the status failed", async () => {
    const asked = create();
    const { channel } = await fleet.work();
    await channel.report([], failed("external", "out of memory"));
    const found = await resource(asked);
    expect(found).toMatchObject({ status: "failed", error: { message: "out of memory" } });
  });

  test("a response is still answered after a restart of the control plane", async () => {
    const asked = create();
    const { job, channel } = await fleet.work();
    await put(channel, "on");
    await abortAllDurableObjects();
    await finish(await fleet.connect(job), [" and", " on"]);
    expect(text(await resource(asked))).toBe("on and on");
  });

  test("a response that was waited for cannot be cancelled after its end", async () => {
    const { id } = await completed();
    const { status, message } = await refusal(client.post(`${PATH}/${id}/cancel`, ""));
    expect([status, message]).toEqual([400, "Cannot cancel a synchronous response."]);
  });
});

describe("a streamed response", () => {
  test("a streamed response sends its events in order, numbered without a gap", async () => {
    const [response] = await Promise.all([
      create({ stream: true }),
      answer(fleet, chunk({ role: "assistant", content: "on" }), chunk({ content: " on" }, "stop")),
    ]);
    const events = await eventsOf(response);
    expect(numbersOf(events)).toEqual(upTo(events.length));
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const last = events.at(-1)?.response;
    expect(last && text(last)).toBe("on on");
    expect(await read(last?.id ?? "")).toEqual(last);
  });

  test("a response is replayed, whole or from a number on", async () => {
    const { id } = await completed({ stream: false });
    const whole = await eventsOf(await client.fetch(`${PATH}/${id}?stream=true`));
    expect(numbersOf(whole)).toEqual(upTo(whole.length));
    const rest = await eventsOf(await client.fetch(`${PATH}/${id}?stream=true&starting_after=4`));
    expect(rest).toEqual(whole.slice(5));
  });
});

test("a plain prediction is a response only if its input is a whole request", async () => {
  const { body } = await client.create({ model, input: { input: "hi" } });
  expect((await answer(fleet, "on")).call).toBe("responses");
  const response_id = `resp_${body.id.replaceAll("-", "")}`;
  expect((await client.fetch(`${PATH}/${response_id}`)).status).toBe(404);
});

test("a prediction of a chat is not found as a response", async () => {
  const id = await client
    .create({ model, input: { messages: [] } })
    .then(({ body }) => body.id.replaceAll("-", ""));
  await answer(fleet, "on");
  expect((await client.fetch(`${PATH}/resp_${id}`)).status).toBe(404);
});

test.each([
  [{ input: undefined }, 422, "input"],
  [{ background: "yes" }, 422, "background"],
  [{ conversation: "conv_1" }, 404, "conversation"],
  [{ prompt: { id: "pmpt_1" } }, 400, "prompt"],
  [{ prompt: { id: "p" } }, 400, "prompt"],
])("a response with %j is refused", async (wrong, status, param) => {
  expect(await refusal(create(wrong))).toMatchObject({ status, param });
});

test.each([
  [{ vendora_responses: true, vendora_chat_completions: true }, "best"],
  [{ vendora_responses: true, vendora_chat_completions: false }, "own"],
  [{ vendora_responses: false, vendora_chat_completions: true }, "chat"],
])("a version with %j has its runner answer a response over: %s", async (flags, via) => {
  const world = await newOpenAi({ compatibilities: flags });
  const [response, job] = await Promise.all([
    world.client.post(PATH, { model: world.model, input: "Go on" }),
    answer(world.fleet, "on"),
  ]);
  expect(response.status).toBe(200);
  expect(job.responses).toBe(via);
});
