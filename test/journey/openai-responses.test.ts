/** Responses by the official client: from a container that has the endpoint, and from one that does not. */
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { responseIdOf } from "../../src/domain/openai/call.ts";
import { USERNAME } from "./support/access.ts";
import { endOf } from "./support/end.ts";
import { openAiOf, predictionIn, type Setup, tallyOf, told } from "./support/openai.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;
const RECITER = `${USERNAME}/reciter`;
const WEATHER = {
  type: "function" as const,
  name: "weather",
  strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } } },
};
const PENDING: unknown[] = ["queued", "in_progress"];

type Event = OpenAI.Responses.ResponseStreamEvent;

let world: World;
let setup: Setup;
let openai: OpenAI;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 16 });
  setup = openAiOf(world.access);
  openai = setup.openai;
});
afterEach(() => setup.wire.settle());
afterAll(() => world.close());

async function read<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of stream) all.push(item);
  return all;
}

/** Waits until a response has ended. */
const ended = (id: string) =>
  vi.waitFor(
    async () => {
      const response = await openai.responses.retrieve(id);
      expect(PENDING).not.toContain(response.status);
      return response;
    },
    { timeout: 20_000, interval: 50 },
  );

const typesOf = (events: Event[]) => events.map(({ type }) => type.replace("response.", ""));

describe.each([
  ["translated", ORACLE],
  ["native", NATIVE],
])("%s", (_, model) => {
  it("a response answers, is stored, and lists its input", async () => {
    const input = told({ say: ["Rain", " at", " noon"], think: ["hm"] });
    const response = await openai.responses.create({ model, input, instructions: "Be brief" });
    expect(response).toMatchObject({
      model,
      status: "completed",
      output_text: "Rain at noon",
      instructions: "Be brief",
      usage: { output_tokens: 4 },
    });
    expect(response.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
    const id = predictionIn(setup.wire.last);
    expect(response.id).toBe(responseIdOf(id));
    const { metrics } = await endOf(world, world.watch(id), "succeeded");
    expect(metrics).toMatchObject({ output_tokens: 4 });
    expect(await openai.responses.retrieve(response.id)).toEqual(response);
    const items = await read(openai.responses.inputItems.list(response.id));
    expect(items).toMatchObject([{ role: "user", content: [{ type: "input_text", text: input }] }]);
  });

  it("a response streams every event, in order, and the helper puts them together", async () => {
    const input = told({ say: ["Rain", " at", " noon"], every: 10 });
    const stream = openai.responses.stream({ model, input });
    const events: Event[] = [];
    stream.on("event", (event) => events.push(event));
    const response = await stream.finalResponse();
    expect(response.output_text).toBe("Rain at noon");
    expect(typesOf(events)).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
    expect(await openai.responses.retrieve(response.id)).toMatchObject({
      status: "completed",
      output: response.output.map(({ type, id }) => ({ type, id })),
    });
  });

  it("a response remembers the previous turns and their tools", async () => {
    const tools = [WEATHER];
    const calls = [
      { name: "weather", arguments: { city: "Rome" } },
      { name: "weather", arguments: { city: "Oslo" } },
    ];
    const first = await openai.responses
      .stream({ model, input: told({ say: ["Let me see."], calls }), tools })
      .finalResponse();
    const called = first.output.filter((item) => item.type === "function_call");
    expect(called.map((call) => JSON.parse(call.arguments))).toEqual([
      { city: "Rome" },
      { city: "Oslo" },
    ]);
    const second = await openai.responses.create({
      model,
      tools,
      previous_response_id: first.id,
      input: called.map(({ call_id }, n) => ({
        type: "function_call_output" as const,
        call_id,
        output: `sunny ${n}`,
      })),
    });
    expect(second).toMatchObject({
      output_text: "You said: the tool says sunny 1",
      previous_response_id: first.id,
    });
    const third = await openai.responses.create({
      model,
      previous_response_id: second.id,
      input: told({ echo: true }),
    });
    expect(third.output_text).toContain("Let me see.");
    expect(third.output_text).toContain("sunny 0");
    expect(third.output_text).toContain("the tool says sunny 1");
    const items = await read(
      openai.responses.inputItems.list(third.id, { order: "asc", limit: 2 }),
    );
    expect(items.map(({ type }) => type)).toEqual([
      "message",
      "message",
      "function_call",
      "function_call",
      "function_call_output",
      "function_call_output",
      "message",
      "message",
    ]);
  });

  it("a response says when it has not finished, and when it has refused", async () => {
    const cut = await openai.responses.create({
      model,
      input: told({ say: ["a"], finish: "length" }),
    });
    expect(cut).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    });
    const refused = await openai.responses
      .stream({ model, input: told({ refuse: ["I", " will not"] }) })
      .finalResponse();
    expect(refused.output).toMatchObject([
      { content: [{ type: "refusal", refusal: "I will not" }] },
    ]);
  });

  it("a response fails as a resource when the container does, plain and streamed, once", async () => {
    const input = told({ say: ["a"], end: "error" });
    const before = setup.wire.exchanges.length;
    const events = await read(await openai.responses.create({ model, input, stream: true }));
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: {
        status: "failed",
        error: { code: "server_error", message: "the GPU has melted" },
      },
    });
    const fail = { status: 500, error: { message: "out of memory", type: "x" } };
    const plain = await openai.responses.create({ model, input: told({ fail }) });
    expect(plain).toMatchObject({
      status: "failed",
      error: { code: "server_error", message: expect.stringContaining("out of memory") },
    });
    expect(setup.wire.exchanges).toHaveLength(before + 2);
  });

  it("a response runs in the background until it is done, and is polled", async () => {
    const begun = await openai.responses.create({
      model,
      background: true,
      input: told({ say: ["late"], wait: 500 }),
    });
    expect(setup.wire.last.status).toBe(202);
    expect(begun.status).toBe("queued");
    const response = await ended(begun.id);
    expect(response).toMatchObject({ status: "completed", output_text: "late", background: true });
  });

  it("a response finishes when its reader drops at the first event, and is read again from anywhere", async () => {
    const say = Array.from({ length: 40 }, (_, n) => `w${n} `);
    const stream = await openai.responses.create({
      model,
      background: true,
      stream: true,
      input: told({ say, every: 15, mark: `dropped ${model}` }),
    });
    let id = "";
    for await (const event of stream) {
      if (event.type === "response.created") id = event.response.id;
      break;
    }
    // The response is still being written while it is read again.
    const live = await read(await openai.responses.retrieve(id, { stream: true }));
    expect(live.map(({ sequence_number }) => sequence_number)).toEqual(live.map((_, n) => n));
    expect(live.at(-1)).toMatchObject({ type: "response.completed" });
    expect(await tallyOf(setup, ORACLE, `dropped ${model}`)).toMatchObject(
      model === ORACLE ? { asked: 1, answered: 1, left: 0 } : { asked: 0 },
    );
    const rest = await read(
      await openai.responses.retrieve(id, { stream: true, starting_after: 20 }),
    );
    expect(rest).toEqual(live.slice(21));
    const helper = openai.responses.stream({ response_id: id, starting_after: 20 });
    const seen: Event[] = [];
    helper.on("event", (event) => seen.push(event));
    expect((await helper.finalResponse()).output_text).toBe(say.join(""));
    expect(typesOf(seen)).toEqual(typesOf(rest));
    const past = { stream: true, starting_after: live.length - 1 } as const;
    expect(await read(await openai.responses.retrieve(id, past))).toEqual([]);
  });
});

describe("a stored response", () => {
  it("a stored response in the background can be canceled any number of times", async () => {
    const { id } = await openai.responses.create({
      model: ORACLE,
      background: true,
      stream: false,
      input: told({ say: ["a"], end: "hang", mark: "cancelled" }),
    });
    await vi.waitFor(
      async () => expect(await tallyOf(setup, ORACLE, "cancelled")).toMatchObject({ asked: 1 }),
      { timeout: 20_000 },
    );
    const reader = read(await openai.responses.retrieve(id, { stream: true }));
    expect(await openai.responses.cancel(id)).toMatchObject({ id, status: "cancelled" });
    expect(await openai.responses.cancel(id)).toMatchObject({ id, status: "cancelled" });
    expect(typesOf(await reader).filter((type) => type.startsWith("cancel"))).toEqual([]);
    expect(await openai.responses.retrieve(id)).toMatchObject({ status: "cancelled" });
    expect(await tallyOf(setup, ORACLE, "cancelled")).toMatchObject({ answered: 0, left: 1 });
  });

  it("a stored response is not canceled once it has ended, or when its caller waited for it", async () => {
    const plain = await openai.responses.create({ model: ORACLE, input: "x" });
    await expect(openai.responses.cancel(plain.id)).rejects.toThrow(
      "400 Cannot cancel a synchronous response.",
    );
    const { id } = await openai.responses.create({ model: ORACLE, background: true, input: "x" });
    await ended(id);
    await expect(openai.responses.cancel(id)).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  });

  it("a stored response that was deleted is not found, also not as a previous response", async () => {
    const { id } = await openai.responses.create({ model: ORACLE, input: "x" });
    await openai.responses.delete(id);
    for (const call of [
      () => openai.responses.retrieve(id),
      () => openai.responses.delete(id),
      () => openai.responses.cancel(id),
      () => read(openai.responses.inputItems.list(id)),
    ]) {
      await expect(call()).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    }
    const next = openai.responses.create({ model: ORACLE, input: "y", previous_response_id: id });
    await expect(next).rejects.toMatchObject({
      status: 400,
      param: "previous_response_id",
      code: "previous_response_not_found",
    });
  });

  it("a stored response is not deleted while it runs", async () => {
    const { id } = await openai.responses.create({
      model: ORACLE,
      background: true,
      input: told({ end: "hang" }),
    });
    await expect(openai.responses.delete(id)).rejects.toMatchObject({ status: 400 });
    await openai.responses.cancel(id);
    await openai.responses.delete(id);
  });

  it("a response with store: false is not found, and cannot be in the background", async () => {
    const response = await openai.responses.create({
      model: ORACLE,
      input: "x",
      store: false,
    });
    expect(response).toMatchObject({ status: "completed", store: false });
    await expect(openai.responses.retrieve(response.id)).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    );
    const both = { model: ORACLE, input: "x", store: false, background: true };
    await expect(openai.responses.create(both)).rejects.toMatchObject({
      status: 400,
      param: "store",
    });
  });
});

it("a Cog model with messages answers responses, over turns, with its own usage", async () => {
  const recites = (...outputs: unknown[]) => JSON.stringify(outputs);
  const first = await openai.responses
    .stream({ model: RECITER, input: recites("Once", " upon", " a time") })
    .finalResponse();
  expect(first).toMatchObject({ output_text: "Once upon a time", usage: { output_tokens: 3 } });
  const second = await openai.responses.create({
    model: RECITER,
    previous_response_id: first.id,
    input: recites({ choices: [{ message: { content: "The end" }, finish_reason: "stop" }] }),
  });
  expect(second).toMatchObject({ output_text: "The end", usage: { input_tokens: 3 } });
});
