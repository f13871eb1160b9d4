/**
 * Checks of bodies and events of the Anthropic convention against schemas that are as strict as the types of
 * its official client: anthropic-types.ts compares the two.
 */
import { expect } from "vitest";
import { z } from "zod";
import { jsonObject } from "../../src/protocol/common.ts";

const count = z.int().nonnegative();
const index = count;

const text = z.strictObject({ type: z.literal("text"), text: z.string() });
const thinking = z.strictObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string(),
});
const redacted = z.strictObject({ type: z.literal("redacted_thinking"), data: z.string() });
const call = z.strictObject({
  type: z.literal("tool_use"),
  id: z.string().regex(/^.+$/),
  name: z.string(),
  // `z.record` is not used, because it drops a property named `__proto__`.
  input: jsonObject,
  caller: z.strictObject({ type: z.literal("direct") }),
});
const block = z.discriminatedUnion("type", [text, thinking, redacted, call]);

const stopReason = z.enum([
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded",
]);

const deltaUsage = z.strictObject({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  output_tokens_details: z.strictObject({ thinking_tokens: count }).nullable(),
  server_tool_use: z.null(),
  /** An extension of ours, which the official clients pass on. */
  cost: z.number().nonnegative().optional(),
});
const usage = deltaUsage.extend({
  cache_creation: z.null(),
  inference_geo: z.null(),
  service_tier: z.null(),
  speed: z.null(),
});

export const anyMessage = z.strictObject({
  id: z.string().regex(/^msg_/),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string(),
  content: z.array(block),
  container: z.null(),
  diagnostics: z.null(),
  stop_reason: stopReason.nullable(),
  stop_sequence: z.string().nullable(),
  stop_details: z.null(),
  usage,
});

const message = anyMessage.extend({ stop_reason: stopReason });
/** A message at the beginning of a stream. */
const begun = anyMessage.extend({
  content: z.tuple([]),
  stop_reason: z.null(),
  stop_sequence: z.null(),
});

const delta = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text_delta"), text: z.string() }),
  z.strictObject({ type: z.literal("thinking_delta"), thinking: z.string() }),
  z.strictObject({ type: z.literal("signature_delta"), signature: z.string() }),
  z.strictObject({ type: z.literal("input_json_delta"), partial_json: z.string() }),
]);

export const told = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("message_start"), message: begun }),
  z.strictObject({ type: z.literal("content_block_start"), index, content_block: block }),
  z.strictObject({ type: z.literal("content_block_delta"), index, delta }),
  z.strictObject({ type: z.literal("content_block_stop"), index }),
  z.strictObject({
    type: z.literal("message_delta"),
    delta: z.strictObject({
      stop_reason: stopReason,
      stop_sequence: z.string().nullable(),
      stop_details: z.null(),
      container: z.null(),
    }),
    usage: deltaUsage,
  }),
  z.strictObject({ type: z.literal("message_stop") }),
]);

/** The client's types leave `ping` out, because the client does. */
const ping = z.strictObject({ type: z.literal("ping") });
const event = z.union([told, ping]);
export type MessageEvent = z.infer<typeof told>;

const errorType = z.enum([
  "invalid_request_error",
  "authentication_error",
  "permission_error",
  "not_found_error",
  "conflict_error",
  "rate_limit_error",
  "timeout_error",
  "api_error",
  "overloaded_error",
]);
const error = z.object({
  type: z.literal("error"),
  error: z.strictObject({
    type: errorType,
    message: z.string().min(1),
    details: z.strictObject({ error_code: z.literal("thread_not_found") }).optional(),
  }),
  request_id: z.string().nullable(),
});
/** An error as published: conflicts are in the client's list of types, and in none of its shapes. */
export const published = error.extend({
  error: error.shape.error.extend({ type: errorType.exclude(["conflict_error"]) }),
});

export const model = z.strictObject({
  type: z.literal("model"),
  id: z.string(),
  display_name: z.string(),
  created_at: z.iso.datetime(),
  lifecycle: z.literal("active"),
  line: z.null(),
  capabilities: z.null(),
  max_input_tokens: z.null(),
  max_tokens: z.null(),
  deprecated_at: z.null(),
  retires_at: z.null(),
});

const models = z.strictObject({
  data: z.array(model),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

export const tokens = z.strictObject({
  input_tokens: count,
});

export const checkedMessage = (value: unknown) => message.parse(value);
export const checkedModel = (value: unknown) => model.parse(value);
export const checkedModels = (value: unknown) => models.parse(value);
export const checkedTokens = (value: unknown) => tokens.parse(value);

export function checkedError(value: unknown) {
  const body = error.parse(value);
  if (body.error.type !== "conflict_error") published.parse(body);
  return body;
}

/**
 * Checks all events of a stream, each in its place: the blocks one after the other, with the deltas of their
 * kind. Returns them without the pings, of which there is at least one if there is a block.
 * @param complete false: its reader left, or it broke off
 */
export function checkedEvents(values: unknown[], complete = true): MessageEvent[] {
  const all = z.array(event).parse(values);
  const events = all.filter((one) => one.type !== "ping");
  const [first, ...rest] = events;
  if (first) expect(first.type).toBe("message_start");
  let open: { index: number; kind: string } | undefined;
  let blocks = 0;
  const ending: string[] = [];
  for (const one of rest) {
    expect(ending, `${one.type} comes after the end`).not.toContain("message_stop");
    switch (one.type) {
      case "content_block_start":
        expect([open, ending]).toEqual([undefined, []]);
        expect(one.index).toBe(blocks);
        open = { index: blocks++, kind: one.content_block.type };
        break;
      case "content_block_delta":
        expect(one.index).toBe(open?.index);
        expect(KINDS[one.delta.type]).toBe(open?.kind);
        break;
      case "content_block_stop":
        expect(one.index).toBe(open?.index);
        open = undefined;
        break;
      default:
        expect(open).toBeUndefined();
        ending.push(one.type);
    }
  }
  if (complete) expect(ending).toEqual(["message_delta", "message_stop"]);
  if (blocks > 0) expect(all.length).toBeGreaterThan(events.length);
  return events;
}

const KINDS = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "thinking",
  input_json_delta: "tool_use",
};
