/** Messages of the Anthropic convention: whole answers, translations, repeats and callers that leave. */
import { afterEach, describe, expect, test } from "vitest";
import { checkedMessage } from "../../published/anthropic.ts";
import { ask, asking, errorOf } from "../support/anthropic.ts";
import { answer, chunk, completion, MESSAGES, newOpenAi } from "../support/openai.ts";
import { startClock } from "../support/time.ts";

const { client, model, fleet } = await newOpenAi();

afterEach(startClock);

const idOf = (predictionId: string) => `msg_${predictionId.replaceAll("-", "")}`;

describe("a plain message", () => {
  test("a message to a model that chats reaches its runner unchanged, and is answered as a message", async () => {
    const more = { system: "Be brief.", temperature: 0.5, metadata: { user_id: "u" } };
    const [response, job] = await Promise.all([
      ask(client, model, more),
      answer(fleet, completion("on and on")),
    ]);
    expect(job).toMatchObject({ call: "messages", interface: "vendora" });
    expect(job.input).toEqual(asking(model, more));
    expect(response.status).toBe(200);
    expect(checkedMessage(await response.json())).toMatchObject({
      id: idOf(job.prediction_id),
      model,
      content: [{ type: "text", text: "on and on" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 3, output_tokens: 2 },
    });
  });

  test("a message to a container that has messages is answered by the container", async () => {
    const [response, job] = await Promise.all([
      ask(client, model),
      answer(fleet, {
        id: "theirs",
        type: "message",
        role: "assistant",
        model: "m",
        content: [{ type: "tool_use", id: "t", name: "weather", input: { city: "Köln" } }],
        stop_reason: "tool_use",
        usage: { input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 2 },
      }),
    ]);
    expect(checkedMessage(await response.json())).toMatchObject({
      id: idOf(job.prediction_id),
      model,
      content: [{ type: "tool_use", id: "t", name: "weather", input: { city: "Köln" } }],
      stop_reason: "tool_use",
      usage: { input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 2 },
    });
  });

  test("a message stops at max_tokens, or at a stop sequence", async () => {
    const [cut] = await Promise.all([
      ask(client, model, { max_tokens: 2 }),
      answer(fleet, "on", " and"),
    ]);
    expect(await cut.json()).toMatchObject({ stop_reason: "max_tokens", stop_sequence: null });
    const stopped = {
      choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop", stop_reason: "END" }],
    };
    const [ended, job] = await Promise.all([
      ask(client, model, { stop_sequences: ["END"] }),
      answer(fleet, stopped),
    ]);
    expect(job.input).toMatchObject({ stop_sequences: ["END"] });
    expect(await ended.json()).toMatchObject({
      stop_reason: "stop_sequence",
      stop_sequence: "END",
    });
  });

  test("a message is served below a second /v1, with a key instead of a bearer token", async () => {
    const { token = "" } = client;
    const asked = client.post("/v1/vendorb/v1/messages?beta=true", asking(model), {
      authorization: "",
      "x-api-key": token,
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "tools-2024-04-04",
    });
    const [response] = await Promise.all([asked, answer(fleet, "text")]);
    expect(response.status).toBe(200);
    checkedMessage(await response.json());
  });
});

describe("a message of a Cog model", () => {
  test("a Cog model runs the call messages, and its text is answered as a message", async () => {
    const world = await newOpenAi({ configuration: { interface: "cog" } });
    const [response, job] = await Promise.all([
      ask(world.client, world.model),
      answer(world.fleet, "on", " and on"),
    ]);
    expect(job).toMatchObject({ call: "messages", interface: "cog" });
    expect(checkedMessage(await response.json())).toMatchObject({
      content: [{ type: "text", text: "on and on" }],
      usage: { input_tokens: 3, output_tokens: 2 },
    });
  });

  test("a parameter that would change the answer and is not in the schema is refused", async () => {
    const world = await newOpenAi({
      configuration: { interface: "cog" },
      input: { type: "object", properties: { messages: {}, tools: {} } },
    });
    const tools = [{ name: "weather", input_schema: { type: "object" } }];
    const asked = ask(world.client, world.model, { tools, tool_choice: { type: "any" } });
    expect(await errorOf(asked)).toMatchObject({
      status: 400,
      message: expect.stringContaining("'tool_choice' is not supported"),
    });
    expect(await world.client.ok("GET", "/v1/predictions")).toMatchObject({ items: [] });
  });
});

describe("tools", () => {
  const own = { name: "weather", input_schema: { type: "object" } };
  const search = { type: "web_search_20250305", name: "web_search" };

  test("tools that only the convention's own service has are left out, and named in a header", async () => {
    const call = chunk({
      tool_calls: [{ index: 0, id: "c", function: { name: "weather", arguments: "{}" } }],
    });
    const [response, job] = await Promise.all([
      ask(client, model, { tools: [search, own] }),
      answer(fleet, call),
    ]);
    expect(response.headers.get("auspex-tools-left-out")).toBe("web_search_20250305");
    expect(job.input).toEqual(asking(model, { tools: [own] }));
    expect(await response.json()).toMatchObject({
      content: [{ type: "tool_use", id: "c", name: "weather", input: {} }],
      stop_reason: "tool_use",
    });
  });

  test("tools are added and removed by messages of the conversation", async () => {
    const change = (type: string, tool: object) => ({ role: "system", content: [{ type, tool }] });
    const clock = { ...own, name: "clock" };
    const messages = [
      ...MESSAGES,
      change("tool_addition", { type: "tool_definition", definition: clock }),
      change("tool_removal", { type: "tool_reference", name: "weather" }),
    ];
    const [response, job] = await Promise.all([
      ask(client, model, { messages, tools: [own] }),
      answer(fleet, "on"),
    ]);
    expect(response.status).toBe(200);
    expect(job.input).toMatchObject({ messages, tools: [clock] });
  });

  test("calls of the convention's own tools are left out of the conversation, and named", async () => {
    const ran = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
    const messages = [...MESSAGES, { role: "assistant", content: [ran] }, ...MESSAGES];
    const [response] = await Promise.all([ask(client, model, { messages }), answer(fleet, "on")]);
    expect(response.headers.get("auspex-content-left-out")).toBe("server_tool_use");
  });

  test("a tool_choice of a tool that is left out is refused", async () => {
    const tool_choice = { type: "tool", name: "web_search" };
    const asked = ask(client, model, { tools: [search, own], tool_choice });
    expect(await errorOf(asked)).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      message: expect.stringContaining("web_search_20250305"),
    });
  });
});

test("a plain prediction of a container that only has messages runs the call messages", async () => {
  const world = await newOpenAi({ compatibilities: { vendorb_messages: true } });
  await world.client.create({ model: world.model, input: { messages: MESSAGES } });
  const job = await answer(world.fleet, "on");
  expect(job.call).toBe("messages");
});
