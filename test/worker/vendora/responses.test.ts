/** Responses of the vendora convention: three ways to wait, resumed, continued, cancelled, deleted. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { expectErrorBody, expectResponse, expectResponseEvent } from "../../published/validate.ts";
import { eventually, passes, startClock, stopClock } from "../support/time.ts";
import {
  answer,
  chunk,
  failed,
  finish,
  newest,
  newVendora,
  put,
  refused,
} from "../support/vendora.ts";

const { client, model, fleet } = await newVendora();
const { client: stranger } = await newVendora();

afterEach(startClock);

const PATH = "/v1/vendora/responses";

interface Resource {
  id: string;
  status: string;
  output: { type: string; content: { text: string }[] }[];
  [field: string]: unknown;
}

interface StreamEvent {
  type: string;
  sequence_number: number;
  response?: Resource;
}

const create = (more: object = {}) => client.post(PATH, { model, input: "Go on", ...more });

async function resource(answering: Response | Promise<Response>, status = 200): Promise<Resource> {
  const response = await answering;
  const body = await response.json<Resource>();
  expect([response.status, body]).toEqual([status, expect.anything()]);
  expectResponse(body);
  return body;
}

const read = (id: string) => resource(client.fetch(`${PATH}/${id}`));

async function eventsOf(response: Response): Promise<StreamEvent[]> {
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const text = await response.clone().text();
  const events = [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(
    ([, name, data = ""]): StreamEvent => {
      const event = JSON.parse(data);
      expect(event.type).toBe(name);
      return event;
    },
  );
  for (const event of events) expectResponseEvent(event);
  return events;
}

const numbersOf = (events: StreamEvent[]) => events.map((event) => event.sequence_number);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
const text = ({ output }: Resource) => output[0]?.content[0]?.text;

async function completed(more: object = {}, ...values: Json[]): Promise<Resource> {
  const [response] = await Promise.all([
    create(more),
    answer(fleet, ...(values.length > 0 ? values : ["on", " and on"])),
  ]);
  return resource(response);
}

async function refusal(answering: Promise<Response>) {
  const response = await answering;
  const body = await response.json<{ error: { code: string; param: string; message: string } }>();
  expectErrorBody(body);
  return { status: response.status, ...body.error };
}

describe("one that is waited for", () => {
  test("is completed, and stays to be read", async () => {
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

  test("that is as long as it may be is incomplete, and stays so", async () => {
    const found = await completed({ max_output_tokens: 2 });
    expect(found).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    });
    expect(await read(found.id)).toEqual(found);
    const events = await eventsOf(await client.fetch(`${PATH}/${found.id}?stream=true`));
    expect(events.at(-1)).toMatchObject({ type: "response.incomplete", response: found });
  });

  test("that the model fails is a resource too", async () => {
    const asked = create();
    const { channel } = await fleet.work();
    await channel.report([], failed("external", "out of memory"));
    const found = await resource(asked);
    expect(found).toMatchObject({ status: "failed", error: { message: "out of memory" } });
  });

  test("that the container refuses is an error", async () => {
    const asked = create();
    const { channel } = await fleet.work();
    const error = { message: "too long", type: "invalid_request_error", param: "input", code: "x" };
    await channel.report([], refused(400, error));
    expect(await refusal(asked)).toEqual({ status: 400, ...error });
  });

  test("that takes too long is a 504", async () => {
    stopClock();
    const world = await newVendora();
    const asked = world.client.post(PATH, { model: world.model, input: "Go on" });
    const id = await eventually(() => newest(world.client));
    await passes(600, id);
    expect(await refusal(asked)).toMatchObject({ status: 504, code: "timeout" });
  });

  test("is waited for through a restart of the control plane", async () => {
    const asked = create();
    const { job, channel } = await fleet.work();
    await put(channel, "on");
    await abortAllDurableObjects();
    await finish(await fleet.connect(job), [" and", " on"]);
    expect(text(await resource(asked))).toBe("on and on");
  });

  test("cannot be cancelled afterwards", async () => {
    const { id } = await completed();
    const { status, message } = await refusal(client.post(`${PATH}/${id}/cancel`, ""));
    expect([status, message]).toEqual([400, "Cannot cancel a synchronous response."]);
  });
});

describe("one that is streamed", () => {
  test("tells its events in order, numbered without a gap", async () => {
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

  test("is replayed, whole or in part, whenever it is asked for", async () => {
    const { id } = await completed({ stream: false });
    const whole = await eventsOf(await client.fetch(`${PATH}/${id}?stream=true`));
    expect(numbersOf(whole)).toEqual(upTo(whole.length));
    const rest = await eventsOf(await client.fetch(`${PATH}/${id}?stream=true&starting_after=4`));
    expect(rest).toEqual(whole.slice(5));
  });

  test("whose reader leaves is cancelled", async () => {
    const asked = create({ stream: true });
    const { job, channel } = await fleet.work();
    await put(channel, "on");
    await (await asked).body?.cancel();
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([], { status: "canceled", output: "none" });
    expect(await client.status(job.prediction_id)).toBe("canceled");
  });

  test("that its container refuses before the first word is an error with a status", async () => {
    const asked = create({ stream: true });
    const { channel } = await fleet.work();
    const error = { message: "too much", type: "rate_limit_error", param: null, code: "busy" };
    await channel.report([], refused(429, error));
    expect(await refusal(asked)).toMatchObject({ status: 429, code: "busy" });
  });

  test("of something that is no text fails", async () => {
    const [response] = await Promise.all([create({ stream: true }), answer(fleet, { width: 5 })]);
    const events = await eventsOf(response);
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { status: "failed" },
    });
  });
});

describe("one in the background", () => {
  test("is there at once, and can be polled while it grows", async () => {
    const queued = await resource(create({ background: true }), 202);
    expect(queued).toMatchObject({ status: "queued", background: true, output: [] });
    const { channel } = await fleet.work();
    await put(channel, "on");
    const growing = await read(queued.id);
    expect([growing.status, text(growing)]).toEqual(["in_progress", "on"]);
    await finish(channel, [" and", " on"]);
    const ended = await read(queued.id);
    expect([ended.status, text(ended)]).toEqual(["completed", "on and on"]);
  });

  test("goes on when its reader leaves right after the first event, and is resumed", async () => {
    const response = await create({ background: true, stream: true });
    const reader = response.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    expect(first).toContain("event: response.created");
    const [, id = ""] = /"id":"(resp_\w+)"/.exec(first) ?? [];
    await reader?.cancel();
    const { channel } = await fleet.work();
    const resumed = client.fetch(`${PATH}/${id}?stream=true&starting_after=0`);
    await finish(channel, ["on", " and on"]);
    const events = await eventsOf(await resumed);
    expect(events[0]).toMatchObject({ type: "response.queued", sequence_number: 1 });
    expect(numbersOf(events)).toEqual(upTo(events.length + 1).slice(1));
    expect(events.at(-1)?.type).toBe("response.completed");
  });

  test("has no time limit but the version's own", async () => {
    stopClock();
    const world = await newVendora();
    const body = { model: world.model, input: "Go on", background: true };
    const { id } = await resource(world.client.post(PATH, body), 202);
    await passes(601, await newest(world.client));
    await answer(world.fleet, "on");
    const found = await world.client.json<Resource>("GET", `${PATH}/${id}`);
    expect(found.body.status).toBe("completed");
  });

  test("is cancelled, twice to the same effect", async () => {
    const { id } = await resource(create({ background: true }), 202);
    const { channel } = await fleet.work();
    const cancelling = client.post(`${PATH}/${id}/cancel`, "");
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([], { status: "canceled", output: "none" });
    const first = await resource(cancelling);
    expect(first.status).toBe("cancelled");
    expect(await resource(client.post(`${PATH}/${id}/cancel`, ""))).toEqual(first);
    const events = await eventsOf(await client.fetch(`${PATH}/${id}?stream=true`));
    expect(events.map(({ type }) => type).at(-1)).not.toMatch(/cancel|completed|failed/);
  });

  test("cannot be cancelled when it has ended", async () => {
    const { id } = await resource(create({ background: true }), 202);
    await answer(fleet, "on");
    await eventually(async () => expect((await read(id)).status).toBe("completed"));
    const { status, message } = await refusal(client.post(`${PATH}/${id}/cancel`, ""));
    expect([status, message]).toEqual([400, expect.stringContaining("succeeded")]);
  });
});

describe("what came before", () => {
  test("is all given to the model, and listed as input", async () => {
    const first = await completed({ input: "One", instructions: "Be brief" }, "first");
    const [response, job] = await Promise.all([
      create({ input: "Two", previous_response_id: first.id }),
      answer(fleet, "second"),
    ]);
    const second = await resource(response);
    expect(second.previous_response_id).toBe(first.id);
    expect(second.instructions).toBeNull();
    const { input } = job.input ?? {};
    expect(input).toMatchObject([
      { role: "user" },
      { role: "assistant", content: [{ text: "first" }] },
      { role: "user" },
    ]);
    const list = `${PATH}/${second.id}/input_items`;
    const all = await client.ok<{ data: { id: string }[] }>("GET", `${list}?order=asc`);
    expect(all).toMatchObject({
      object: "list",
      has_more: false,
      data: [
        { content: [{ type: "input_text", text: "One" }] },
        { content: [{ type: "output_text", text: "first" }] },
        { content: [{ type: "input_text", text: "Two" }] },
      ],
    });
    const [last] = all.data.slice(-1);
    const page = await client.ok("GET", `${list}?limit=1&after=${last?.id}`);
    expect(page).toMatchObject({ data: [all.data[1]], has_more: true });
    expect(await refusal(client.fetch(`${list}?after=none`))).toMatchObject({ status: 400 });
  });

  test("may be referred to item by item, as clients do that keep the conversation themselves", async () => {
    const call = chunk({
      role: "assistant",
      tool_calls: [
        { index: 0, id: "call_1", type: "function", function: { name: "sum", arguments: "{}" } },
      ],
    });
    const first = await completed({ input: "One" }, call, chunk({}, "tool_calls"));
    const [item] = first.output;
    const [, job] = await Promise.all([
      create({
        input: [
          { role: "user", content: "One" },
          { type: "item_reference", id: item && "id" in item ? item.id : "" },
          { type: "function_call_output", call_id: "call_1", output: "2" },
        ],
      }).then((response) => response.text()),
      answer(fleet, "Two."),
    ]);
    expect(job.input?.input).toMatchObject([
      { role: "user" },
      { type: "function_call", call_id: "call_1", name: "sum" },
      { type: "function_call_output" },
    ]);
  });

  test.each(["msg_unknown", "msg_0123456789abcdef0123456789abcdef_0"])(
    "must be there to be referred to: %s",
    async (id) => {
      const input = [
        { role: "user", content: "One" },
        { type: "item_reference", id },
      ];
      expect(await refusal(create({ input }))).toMatchObject({
        status: 400,
        code: "item_not_found",
        param: "input[1]",
      });
    },
  );

  test("must not have failed", async () => {
    const wrong = await completed({}, { width: 5 });
    expect(wrong.status).toBe("failed");
    expect(await refusal(create({ previous_response_id: wrong.id }))).toMatchObject({
      status: 400,
      param: "previous_response_id",
    });
  });

  test.each([
    ["unknown", "resp_0123456789abcdef0123456789abcdef"],
    ["no id at all", "nonsense"],
  ])("must be there: %s", async (_, previous_response_id) => {
    expect(await refusal(create({ previous_response_id }))).toMatchObject({
      status: 400,
      code: "previous_response_not_found",
      param: "previous_response_id",
    });
  });

  test("must be one's own, and have ended", async () => {
    const { id } = await resource(create({ background: true }), 202);
    const { channel } = await fleet.work();
    expect(await refusal(create({ previous_response_id: id }))).toMatchObject({
      status: 400,
      param: "previous_response_id",
    });
    await finish(channel, ["on"]);
    expect((await stranger.fetch(`${PATH}/${id}`)).status).toBe(404);
  });
});

describe("one that is not kept", () => {
  test("because it was not to be stored is not found, and its data goes", async () => {
    stopClock();
    const { id } = await completed({ store: false });
    expect(await refusal(client.fetch(`${PATH}/${id}`))).toMatchObject({ status: 404 });
    expect(await refusal(create({ previous_response_id: id }))).toMatchObject({ status: 400 });
  });

  test("cannot be in the background", async () => {
    const wrong = create({ store: false, background: true });
    expect(await refusal(wrong)).toMatchObject({ status: 400, param: "store" });
  });

  test("because it was deleted is not found, and its prediction has no data", async () => {
    const { id } = await completed();
    const gone = await client.ok("DELETE", `${PATH}/${id}`);
    expect(gone).toEqual({ id, object: "response", deleted: true });
    for (const path of ["", "/input_items", "?stream=true"]) {
      expect(await refusal(client.fetch(`${PATH}/${id}${path}`))).toMatchObject({
        status: 404,
        code: "response_not_found",
      });
    }
    expect((await client.fetch(`${PATH}/${id}`, { method: "DELETE" })).status).toBe(404);
  });

  test("cannot be deleted while it is under way", async () => {
    const { id } = await resource(create({ background: true }), 202);
    const { channel } = await fleet.work();
    const deleting = client.fetch(`${PATH}/${id}`, { method: "DELETE" });
    expect(await refusal(deleting)).toMatchObject({ status: 400, code: "response_in_progress" });
    await finish(channel, ["on"]);
  });
});

test("a plain prediction is a response only if its input is a whole request", async () => {
  const { body } = await client.create({ model, input: { input: "hi" } });
  expect((await answer(fleet, "on")).call).toBe("responses");
  const response_id = `resp_${body.id.replaceAll("-", "")}`;
  expect((await client.fetch(`${PATH}/${response_id}`)).status).toBe(404);
});

test("a prediction that is no response is not one", async () => {
  const id = await client
    .create({ model, input: { messages: [] } })
    .then(({ body }) => body.id.replaceAll("-", ""));
  await answer(fleet, "on");
  expect((await client.fetch(`${PATH}/resp_${id}`)).status).toBe(404);
});

test.each([
  [{ input: undefined }, 422, "input"],
  [{ input: 5 }, 422, "input"],
  [{ background: "yes" }, 422, "background"],
  [{ conversation: "conv_1" }, 400, "conversation"],
  [{ prompt: { id: "p" } }, 400, "prompt"],
])("%j is refused", async (wrong, status, param) => {
  expect(await refusal(create(wrong))).toMatchObject({ status, param });
});
