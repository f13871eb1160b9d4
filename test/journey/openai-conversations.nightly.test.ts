/** Conversations, compaction, counts of tokens and the WebSocket of responses, by the official client. */
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { expectResponseEvent, objections } from "../published/validate.ts";
import { USERNAME } from "./support/access.ts";
import { openAiOf, type Setup, told } from "./support/openai.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;

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

async function typesIn(id: string): Promise<string[]> {
  const types: string[] = [];
  for await (const item of openai.conversations.items.list(id, { order: "asc", limit: 2 }))
    types.push(item.type === "message" ? item.role : item.type);
  return types;
}

describe.each([
  ["translated", ORACLE],
  ["native", NATIVE],
])("%s", (_, model) => {
  it("responses go on in a conversation, plain and streamed", async () => {
    const { id } = await openai.conversations.create({
      metadata: { topic: "rain" },
      items: [{ type: "message", role: "developer", content: "Be brief" }],
    });
    const first = await openai.responses.create({
      model,
      conversation: id,
      input: told({ say: ["Rain", " at noon"], think: ["hm"] }),
    });
    expect(first).toMatchObject({ output_text: "Rain at noon", conversation: { id } });
    const second = await openai.responses
      .stream({ model, conversation: { id }, input: told({ say: ["Yes"] }) })
      .finalResponse();
    expect(second.output_text).toBe("Yes");
    expect(await typesIn(id)).toEqual([
      ...["developer", "user", "reasoning", "assistant"],
      ...["user", "assistant"],
    ]);
    const [said] = first.output.filter(({ type }) => type === "message");
    const item = await openai.conversations.items.retrieve(said?.id ?? "", { conversation_id: id });
    expect(item).toMatchObject({ role: "assistant", content: [{ text: "Rain at noon" }] });
    await openai.conversations.items.delete(item.id ?? "", { conversation_id: id });
    const items = [{ type: "message" as const, role: "user" as const, content: "So?" }];
    await openai.conversations.items.create(id, { items });
    expect(await typesIn(id)).toHaveLength(6);
    await openai.conversations.update(id, { metadata: { topic: "sun" } });
    expect(await openai.conversations.retrieve(id)).toMatchObject({ metadata: { topic: "sun" } });
    const { input_tokens } = await openai.responses.inputTokens.count({ model, conversation: id });
    expect(input_tokens).toBeGreaterThan(5);
    expect(await openai.conversations.delete(id)).toMatchObject({ id, deleted: true });
    await expect(openai.conversations.retrieve(id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  it("a compaction stands for the items before it", async () => {
    const input = [
      { role: "user" as const, content: told({ say: ["Rain at noon"] }) },
      { role: "assistant" as const, content: "Rain at noon" },
    ];
    const compacted = await openai.responses.compact({ model, input });
    expect(compacted.output.map(({ type }) => type)).toEqual(["compaction"]);
    expect(compacted.usage.output_tokens).toBeGreaterThan(0);
    const items = compacted.output.flatMap((item) => (item.type === "compaction" ? [item] : []));
    const next = await openai.responses.create({
      model,
      input: [...items, { role: "user", content: told({ say: ["Yes"] }) }],
    });
    expect(next.output_text).toBe("Yes");
  });
});

it("a message of a WebSocket is a call, and its events are messages", async () => {
  const socket = new ResponsesWS(openai);
  const events: OpenAI.Responses.ResponsesServerEvent[] = [];
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("error", () => {});
  const completed = (count: number) =>
    new Promise<void>((resolve) => {
      socket.on("event", () => {
        const ended = events.filter(({ type }) => type === "response.completed");
        if (ended.length === count) resolve();
      });
    });
  socket.on("event", (event) => events.push(event));
  const first = completed(1);
  socket.send({ type: "response.create", model: ORACLE, input: told({ say: ["Rain", "!"] }) });
  await first;
  const [created] = events;
  const id = created?.type === "response.created" ? created.response.id : "";
  const second = completed(2);
  socket.send({ type: "response.create", model: "no/model", input: "x" });
  socket.send({
    type: "response.create",
    model: ORACLE,
    stream_id: "lane",
    previous_response_id: id,
    input: told({ say: ["Yes"] }),
  });
  await second;
  const errors = events.filter(({ type }) => type === "error");
  expect(errors).toMatchObject([{ status: 404, error: { code: "model_not_found" } }]);
  expect(objections("openai", "ResponseWsError", errors[0])).toEqual([]);
  for (const event of events) if (event.type !== "error") expectResponseEvent(event);
  expect(events.at(-1)).toMatchObject({ type: "response.completed", stream_id: "lane" });
  socket.close();
  await closed;
});
