/** Checks of every answer of the OpenAI endpoints, by its kind. */
import { expect } from "vitest";
import { z } from "zod";
import {
  expectChatChunk,
  expectChatCompletion,
  expectCompletion,
  expectCompletionChunk,
  expectEmbeddings,
  expectErrorBody,
  expectModeration,
  expectResponse,
  expectResponseEvent,
  objections,
} from "../../published/validate.ts";
import type { Checks, Exchange } from "./openai-wire.ts";

const object = z.record(z.string(), z.unknown());
const expectSchema = (schema: string, value: unknown) =>
  expect(objections("openai", schema, value)).toEqual([]);

const expectConversation = (body: unknown) => expectSchema("ConversationResource", body);
const expectItems = (body: unknown) => expectSchema("ConversationItemList", body);

/** Checks of a success, by method and path. */
const ANSWERS: [RegExp, (body: Record<string, unknown>, exchange: Exchange) => void][] = [
  [/^POST \/chat\/completions$/, (body) => expectChatCompletion(body)],
  [/^POST \/completions$/, (body) => expectCompletion(body)],
  [/^POST \/embeddings$/, expectVectors],
  [/^POST \/images\/\w+$/, (body) => expectSchema("ImagesResponse", body)],
  [/^POST \/moderations$/, (body) => expectModeration(body)],
  [/^POST \/rerank$/, (body, { sent }) => expect(body.model).toBe(sent.model)],
  [/^POST \/responses$/, (body) => expectResponse(body)],
  [/^GET \/responses\/[^/]+$/, (body) => expectResponse(body)],
  [/^POST \/responses\/[^/]+\/cancel$/, (body) => expectResponse(body)],
  [/^GET \/responses\/[^/]+\/input_items$/, (body) => expectSchema("ResponseItemList", body)],
  [/^POST \/responses\/input_tokens$/, (body) => expectSchema("TokenCountsResource", body)],
  [/^POST \/responses\/compact$/, (body) => expectSchema("CompactResource", body)],
  [/^(?:POST|GET) \/conversations(?:\/[^/]+)?$/, expectConversation],
  [/^DELETE \/conversations\/[^/]+$/, (body) => expectSchema("DeletedConversationResource", body)],
  [/^(?:POST|GET) \/conversations\/[^/]+\/items$/, expectItems],
  [/^GET \/conversations\/.+\/items\/.+/, (body) => expectSchema("ConversationItem", body)],
  [/^DELETE \/conversations\/.+\/items\/.+/, expectConversation],
  [/^DELETE \/responses\//, (body) => expect(body).toMatchObject({ deleted: true })],
  [/^GET \/models$/, (body) => expectSchema("ListModelsResponse", body)],
  [/^GET \/models\/.+/, (body) => expectSchema("Model", body)],
];

/** Checks an answer that is not a stream. */
function checkAnswer(exchange: Exchange): void {
  const { method, path, status, headers, text } = exchange;
  expect(headers.get("content-type")).toMatch(/^application\/json\b/);
  expect(headers.get("x-request-id")).toMatch(/./);
  const body = object.parse(JSON.parse(text));
  if (status >= 400) {
    expectErrorBody(body);
    expect("detail" in body).toBe(status === 422);
    // A failure that would repeat must not be tried again: these clients try three times.
    if (status >= 500 && status !== 503) expect(headers.get("x-should-retry")).toBe("false");
    return;
  }
  expectPrediction(exchange);
  const [, check] = ANSWERS.find(([call]) => call.test(`${method} ${path}`)) ?? [];
  if (!check) throw new Error(`nobody knows what ${method} ${path} answers`);
  check(body, exchange);
}

export const OPENAI_CHECKS: Checks = {
  below: /^\/v1\/vendora/,
  answer: checkAnswer,
  stream: checkStream,
};

/** Checks that every call that begins a prediction names it. */
function expectPrediction({ method, path, headers }: Exchange): void {
  const runs = method === "POST" && !/\/cancel$|\/input_tokens$|^\/conversations/.test(path);
  if (!runs) return;
  expect(headers.get("auspex-prediction-id")).toMatch(/^[0-9a-f-]{36}$/);
}

const vectors = z.object({
  data: z.array(z.looseObject({ embedding: z.union([z.base64(), z.array(z.number())]) })),
});

/**
 * Checks vectors. The published description has only numbers, but a caller that asks for base64 gets base64.
 */
function expectVectors(body: Record<string, unknown>, { sent }: Exchange): void {
  const data = vectors.parse(body).data.map(({ embedding, ...rest }) => {
    expect(typeof embedding).toBe(sent.encoding_format === "base64" ? "string" : "object");
    if (typeof embedding !== "string") return { ...rest, embedding };
    const bytes = Buffer.from(embedding, "base64");
    expect(bytes.length % 4).toBe(0);
    const floats = Array.from({ length: bytes.length / 4 }, (_, n) => bytes.readFloatLE(4 * n));
    return { ...rest, embedding: floats };
  });
  expectEmbeddings({ ...body, data });
}

interface StreamEvent {
  id: string | undefined;
  event: string | undefined;
  data: string;
}

function checkStream(exchange: Exchange, complete: boolean): void {
  const { headers, path } = exchange;
  expect(headers.get("cache-control")).toContain("no-cache");
  expect(headers.get("x-request-id")).toMatch(/./);
  expectPrediction(exchange);
  const events = eventsIn(exchange.text, complete);
  const ids = events.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  if (path === "/chat/completions") checkChat(exchange, events, complete);
  else if (path.startsWith("/images/")) checkImages(events, complete);
  else if (path === "/completions") checkCompletion(exchange, events, complete);
  else checkResponse(exchange, events, complete);
}

/** Parses events as strictly as any of the clients: LF only, one line for each field. */
export function eventsIn(text: string, complete: boolean): StreamEvent[] {
  expect(text).not.toContain("\r");
  const blocks = text.split("\n\n");
  const rest = blocks.pop();
  // A heartbeat may be the last line that was sent.
  if (complete) expect(rest).toMatch(/^(?::.*\n)*$/);
  return blocks.flatMap((block) => {
    const lines = block.split("\n").filter((line) => !line.startsWith(":"));
    if (lines.length === 0) return [];
    const fields = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s).slice(0, 2)));
    expect(Object.keys(fields)).toHaveLength(lines.length);
    const { id, event, data, ...others } = z.record(z.string(), z.string()).parse(fields);
    expect(others).toEqual({});
    return [{ id, event, data: data ?? "" }];
  });
}

const chunk = z.looseObject({
  id: z.string(),
  created: z.number(),
  model: z.string(),
  usage: z.unknown().optional(),
  choices: z.array(
    z.looseObject({
      index: z.number(),
      delta: z.looseObject({ role: z.string().optional() }),
      finish_reason: z.string().nullable(),
    }),
  ),
});

function checkChat({ sent }: Exchange, events: StreamEvent[], ended: boolean): void {
  const datas = events.map(({ event, data }) => {
    expect(event).toBeUndefined();
    return data;
  });
  // The official client reads up to the mark or an error, and leaves.
  const complete = datas.at(-1) === "[DONE]";
  const broken = datas.at(-1)?.startsWith('{"error":') === true;
  if (ended) expect(complete || broken).toBe(true);
  const mark = complete || broken ? datas.pop() : undefined;
  if (broken) expectErrorBody(JSON.parse(mark ?? ""));
  const bodies: unknown[] = datas.map((data) => JSON.parse(data));
  for (const body of bodies) expectChatChunk(body);
  const chunks = z.array(chunk).parse(bodies);
  const heads = chunks.map(({ id, created, model }) => JSON.stringify({ id, created, model }));
  expect(new Set(heads).size).toBeLessThanOrEqual(1);
  for (const { model } of chunks) expect(model).toBe(sent.model);
  const asked = includesUsage(sent);
  const usages = asked && complete ? chunks.splice(-1) : [];
  for (const one of usages) expect(one).toMatchObject({ choices: [], usage: expect.anything() });
  for (const one of chunks) expect(one.usage).toBe(asked ? null : undefined);
  const choices = Map.groupBy(
    chunks.flatMap((one) => one.choices),
    ({ index }) => index,
  );
  for (const all of choices.values()) {
    expect(all.map(({ delta }) => delta.role)).toEqual([
      "assistant",
      ...all.slice(1).map(() => undefined),
    ]);
    // The reason to end is in the last chunk, and a complete stream has one.
    const last = all.at(-1);
    for (const one of all) if (one !== last) expect(one.finish_reason).toBeNull();
    if (complete) expect(last?.finish_reason).toEqual(expect.any(String));
  }
  if (complete) expect(choices.size).toBe(Number(sent.n ?? 1));
}

/** Checks a stream of images. The event of an error is not of the convention, and is the last. */
function checkImages(events: StreamEvent[], complete: boolean): void {
  const types = events.map(({ event, data }) => {
    const body: { type: string } = JSON.parse(data);
    expect(event).toBe(body.type);
    if (event === "error") expectErrorBody(body);
    else expectResponseEvent(body);
    return body.type;
  });
  if (complete) expect(types.at(-1)).toMatch(/^error$|\.completed$/);
}

const textChunk = chunk.extend({
  choices: z.array(z.looseObject({ index: z.number(), finish_reason: z.string().nullable() })),
});

function checkCompletion({ sent }: Exchange, events: StreamEvent[], complete: boolean): void {
  const datas = events.map(({ data }) => data);
  if (complete) expect(datas.pop()).toBe("[DONE]");
  const bodies: unknown[] = datas
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data));
  for (const body of bodies) expectCompletionChunk(body);
  const chunks = z.array(textChunk).parse(bodies);
  for (const { model } of chunks) expect(model).toBe(sent.model);
  const reasons = chunks.flatMap(({ choices }) => choices.map((one) => one.finish_reason));
  if (complete) expect(reasons.filter((reason) => reason !== null)).not.toEqual([]);
}

const includesUsage = (sent: Record<string, unknown>) =>
  z.object({ stream_options: z.object({ include_usage: z.literal(true) }) }).safeParse(sent)
    .success;

const responseEvent = z.looseObject({
  type: z.string(),
  sequence_number: z.number(),
  response: z.looseObject({}).optional(),
});
const TERMINAL = ["response.completed", "response.incomplete", "response.failed"];

function checkResponse({ query, sent }: Exchange, events: StreamEvent[], complete: boolean): void {
  const from = query.has("starting_after") ? Number(query.get("starting_after")) + 1 : 0;
  const all = events.map(({ event, data }, n) => {
    const body = responseEvent.parse(JSON.parse(data));
    expect(event).toBe(body.type);
    expect(body.sequence_number).toBe(from + n);
    expectResponseEvent(body);
    return body;
  });
  const types = all.map(({ type }) => type);
  if (from === 0 && types.length > 0) expect(types[0]).toBe("response.created");
  expect(types.slice(0, -1).filter((type) => TERMINAL.includes(type))).toEqual([]);
  if (sent.model !== undefined) {
    for (const { response } of all) if (response) expect(response.model).toBe(sent.model);
  }
  if (complete && from === 0 && TERMINAL.includes(types.at(-1) ?? "")) checkTexts(all);
}

const piece = z.object({
  item_id: z.string(),
  content_index: z.number().default(0),
  delta: z.string().optional(),
  text: z.string().optional(),
  refusal: z.string().optional(),
  arguments: z.string().optional(),
});

/** Checks that pieces, joined, are the text that is in the event at their end. */
function checkTexts(all: z.infer<typeof responseEvent>[]): void {
  const joined = new Map<string, string>();
  for (const event of all) {
    const [, kind, end] = /^response\.(.+)\.(delta|done)$/.exec(event.type) ?? [];
    const found = piece.safeParse(event).data;
    if (!kind || !found || kind === "content_part") continue;
    const key = `${kind} ${found.item_id} ${found.content_index}`;
    const whole = found.text ?? found.refusal ?? found.arguments ?? "";
    if (end === "delta") joined.set(key, (joined.get(key) ?? "") + (found.delta ?? ""));
    else expect(joined.get(key) ?? "", key).toBe(whole);
  }
}
