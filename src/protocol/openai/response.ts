/** Responses of the OpenAI convention. */
import { z } from "zod";
import { cursorText, integerText, json } from "../common.ts";
import { openAiModelName, openAiWebhook } from "./chat.ts";
import type { OpenAiError } from "./error.ts";

/** An item of a conversation: a message (`type` is optional), a tool call, its output … */
export const responseItem = z.record(z.string(), json);
export type ResponseItem = z.infer<typeof responseItem>;

/** Items per request and per conversation. */
export const MAX_ITEMS = 10_000;

const conversationId = z.string().max(100);
const conversationParam = z.union([conversationId, z.object({ id: conversationId })]);

/** The body of POST /vendora/responses. */
export const responseRequest = z
  .object({
    model: openAiModelName,
    input: z.union([z.string().max(10_000_000), z.array(responseItem).max(MAX_ITEMS)]).nullish(),
    stream: z.boolean().nullish(),
    background: z.boolean().nullish(),
    store: z.boolean().nullish(),
    previous_response_id: z.string().max(100).nullish(),
    conversation: conversationParam.nullish(),
    webhook: openAiWebhook,
  })
  .catchall(json)
  .meta({ example: { model: "demo/chat", input: "Who is the Mad Hatter?" } });
export type ResponseRequest = z.infer<typeof responseRequest>;

const context = responseRequest.pick({
  input: true,
  previous_response_id: true,
  conversation: true,
});

/** The body of POST /vendora/responses/input_tokens. */
export const inputTokensRequest = context
  .extend({ model: openAiModelName.nullish() })
  .catchall(json)
  .meta({ example: { model: "demo/chat", input: "Who is the Mad Hatter?" } });
export type InputTokensRequest = z.infer<typeof inputTokensRequest>;

export const inputTokens = z
  .object({ object: z.literal("response.input_tokens"), input_tokens: z.int().nonnegative() })
  .meta({
    id: "ResponseInputTokens",
    example: { object: "response.input_tokens", input_tokens: 6 },
  });
export type InputTokens = z.infer<typeof inputTokens>;

/** The body of POST /vendora/responses/compact. */
export const compactRequest = context
  .omit({ conversation: true })
  .extend({ model: openAiModelName, instructions: z.string().max(10_000_000).nullish() })
  .catchall(json)
  .meta({
    example: { model: "demo/chat", input: [{ role: "user", content: "Who is the Hatter?" }] },
  });
export type CompactRequest = z.infer<typeof compactRequest>;

/** A stream event of a container that supports responses natively. */
export const responseEvent = z.looseObject({ type: z.string().startsWith("response.") });

/** A response of such a container. */
export const response = z.looseObject({
  object: z.literal("response"),
  status: z.string().nullish(),
  output: z.array(responseItem),
});

/** The query of GET /vendora/responses/{response_id}/input_items. */
export const itemsQuery = z.object({
  limit: integerText(1, 100).default(20).meta({ description: "Maximum number of items" }),
  order: z.enum(["asc", "desc"]).default("desc").meta({ description: "`desc`: newest first" }),
  after: cursorText(100).meta({ description: "ID of an item: lists the items after it" }),
});
export type ItemsQuery = z.infer<typeof itemsQuery>;

/** The query of GET /vendora/responses/{response_id}. */
export const responseQuery = z.object({
  stream: z.stringbool().default(false).meta({
    type: "boolean",
    default: false,
    description: "Return the events as a stream",
  }),
  starting_after: integerText(-1, 1_000_000_000)
    .default(-1)
    .meta({ description: "With `stream`: only events after this `sequence_number`" }),
});

/** The message that starts a response. All other fields are those of POST /vendora/responses. */
export const responseCreate = z.looseObject({
  type: z.literal("response.create"),
  background: z.literal(false).nullish(),
  /** The id comes back with each event. */
  stream_id: z
    .string()
    .regex(/^[\w.-]{1,256}$/)
    .optional(),
});
export type ResponseCreate = z.infer<typeof responseCreate>;

/** The stream that any message names, also an invalid one. */
export const responseLane = responseCreate.pick({ stream_id: true });

/** The answer to a message that starts no response. */
export interface SocketError {
  type: "error";
  status: number;
  error: OpenAiError;
  stream_id?: string;
}
