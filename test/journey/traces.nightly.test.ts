/** Traces through the queue of a deployment, from a real runner to a collector. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { attributeOf, type OtlpSpan, otlpRequest } from "../domain/predictions/otlp.ts";
import type { Received } from "../receiver/exchange.ts";
import { Receiver } from "../receiver/receiver.ts";
import { USERNAME } from "./support/access.ts";
import { asks, openAiOf } from "./support/conventions.ts";
import { World } from "./support/world.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const PATH = "/v1/traces";

let world: World;
let collector: Receiver;

beforeAll(async () => {
  collector = await Receiver.open();
  // The queue repeats the first request, which the collector refuses.
  collector.script(PATH, [{ status: 503, headers: { "retry-after": "1" } }, { status: 200 }]);
  world = await World.open({
    variables: { OTLP_ENDPOINT: collector.url, OTLP_HEADERS: "x-key=a%20key" },
  });
  await world.runner("one", { slots: 2 });
});
afterAll(async () => {
  await world.close();
  await collector.close();
});

const spansIn = (request: Received | undefined) =>
  otlpRequest
    .parse(JSON.parse(request?.body ?? ""))
    .resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));

const idsOf = (spans: OtlpSpan[]) => spans.map(({ spanId }) => spanId).toSorted();

it("predictions of one trace reach the collector in one request, again after it has failed", async () => {
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };
  const body = { model: `${USERNAME}/hello`, input: { name: "Ada" } };
  const wait = { ...headers, prefer: "wait" };
  await world.client.fetch("POST", "/predictions", { body, headers: wait });
  const { openai } = openAiOf(world.access);
  const model = `${USERNAME}/oracle`;
  await openai.chat.completions.create({ model, messages: asks({ say: ["Hello"] }) }, { headers });
  const [first, second] = await collector.waitFor(PATH, 2);
  expect(second?.headers).toMatchObject({ "x-key": "a key", "content-type": "application/json" });
  const spans = spansIn(second);
  // Messages that are delivered again come in any order.
  expect(idsOf(spans)).toEqual(idsOf(spansIn(first)));
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === PARENT);
  expect(roots.map(({ name }) => name).toSorted()).toEqual([
    "POST /v1/predictions",
    "POST /v1/vendora/chat/completions",
  ]);
  const chat = spans.find(({ name }) => name === `chat ${model}`) ?? expect.fail();
  expect(attributeOf(chat, "gen_ai.usage.output_tokens")).toBeGreaterThan(0);
  expect(second?.body).not.toMatch(/Ada|Hello/);
});
