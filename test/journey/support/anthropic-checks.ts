/** Checks of every answer of the Anthropic endpoints, by its kind. */
import { expect } from "vitest";
import {
  checkedError,
  checkedEvents,
  checkedMessage,
  checkedModel,
  checkedModels,
  checkedTokens,
} from "../../published/anthropic.ts";
import { eventsIn } from "./openai-checks.ts";
import type { Checks, Exchange } from "./openai-wire.ts";

/** Schemas of a success, by method and path. */
const ANSWERS: [RegExp, (body: unknown) => unknown][] = [
  [/^POST \/messages$/, checkedMessage],
  [/^POST \/messages\/count_tokens$/, checkedTokens],
  [/^GET \/models$/, checkedModels],
  [/^GET \/models\/.+/, checkedModel],
];

function expectHead({ headers }: Exchange): void {
  expect(headers.get("request-id")).toMatch(/./);
  expect(headers.get("request-id")).toBe(headers.get("x-request-id"));
}

function checkAnswer(exchange: Exchange): void {
  const { method, path, status, headers, text } = exchange;
  expect(headers.get("content-type")).toMatch(/^application\/json\b/);
  expectHead(exchange);
  const body: unknown = JSON.parse(text);
  if (status >= 400) {
    expect(checkedError(body).request_id).toBe(headers.get("request-id"));
    // A failure that would repeat must not be tried again: these clients try three times.
    if (status >= 500 && status !== 503) expect(headers.get("x-should-retry")).toBe("false");
    return;
  }
  const call = `${method} ${path}`;
  if (call === "POST /messages")
    expect(headers.get("auspex-prediction-id")).toMatch(/^[0-9a-f-]{36}$/);
  const [, check] = ANSWERS.find(([one]) => one.test(call)) ?? [];
  if (!check) throw new Error(`nobody knows what ${call} answers`);
  check(body);
}

function checkStream(exchange: Exchange, complete: boolean): void {
  expectHead(exchange);
  expect(exchange.headers.get("cache-control")).toContain("no-cache");
  expect(exchange.headers.get("auspex-prediction-id")).toMatch(/^[0-9a-f-]{36}$/);
  const events = eventsIn(exchange.text, complete).map(({ event, data }) => {
    const body: { type: string } = JSON.parse(data);
    expect(body.type).toBe(event);
    return body;
  });
  const broken = events.at(-1)?.type === "error";
  if (broken) checkedError(events.pop());
  const told = checkedEvents(events, complete && !broken);
  for (const event of told)
    if (event.type === "message_start") expect(event.message.model).toBe(exchange.sent.model);
}

/** The paths are with the `/v1` that the official client adds, and without it. */
export const ANTHROPIC_CHECKS: Checks = {
  below: /^\/v1\/vendorb(?:\/v1)?/,
  answer: checkAnswer,
  stream: checkStream,
};
