/**
 * Messages of the Anthropic convention. `vendorb` is the contract's name for Anthropic's API: the calls
 * below /v1/vendorb accept its requests and return its responses. Only fields that Auspex uses are
 * validated; the rest is passed to the model. Containers' responses are read leniently.
 */
import { z } from "zod";
import { cursorText, integerText, json, timestamp, validationError } from "./common.ts";
import { openAiModelName, openAiWebhook } from "./openai/chat.ts";

const MAX_MESSAGES = 100_000;
/** The convention's own limit of one message. */
const MAX_BLOCKS = 100_000;
const MAX_TOOLS = 10_000;
const MAX_SEQUENCES = 100;
/** The limit of a tool's name and of a stop sequence. */
const MAX_SHORT = 1_000;

/** As long as the 10 MB body may be. */
const text = z.string().max(10_000_000);

/** Part of a message: text, an image, a tool's call, its result … */
const block = z.looseObject({ type: z.string().min(1).max(64) });

const content = z.union([text, z.array(block).max(MAX_BLOCKS)]);

/** The content blocks of a conversation, which is counted or continued. */
const conversation = z
  .object({
    model: openAiModelName,
    messages: z
      .array(z.looseObject({ role: z.enum(["user", "assistant", "system"]), content }))
      .min(1)
      .max(MAX_MESSAGES),
    system: content.nullish(),
    /** A function of the caller's own has no type, or the type `custom`. */
    tools: z
      .array(z.looseObject({ type: z.string().max(64).nullish() }))
      .max(MAX_TOOLS)
      .nullish(),
    tool_choice: z
      .looseObject({
        type: z.enum(["auto", "any", "tool", "none"]),
        name: z.string().max(MAX_SHORT).nullish(),
      })
      .nullish(),
  })
  .catchall(json);

const example = {
  model: "demo/chat",
  max_tokens: 100,
  messages: [{ role: "user", content: "Who is the Mad Hatter?" }],
};

/** The body of POST /vendorb/messages. */
export const messageRequest = conversation
  .extend({
    max_tokens: z
      .int()
      .min(1)
      .max(2 ** 31 - 1),
    stop_sequences: z.array(z.string().max(MAX_SHORT)).max(MAX_SEQUENCES).nullish(),
    stream: z.boolean().nullish(),
    webhook: openAiWebhook,
  })
  .meta({ example });

const { max_tokens: _, ...counted } = example;

/** The body of POST /vendorb/messages/count_tokens. */
export const countRequest = conversation.meta({ example: counted });

export const tokenCount = z
  .object({ input_tokens: z.int().nonnegative() })
  .meta({ id: "VendorbTokenCount", example: { input_tokens: 14 } });
export type TokenCount = z.infer<typeof tokenCount>;

/** Unknown facts of a model are null, which the convention allows. */
export const anthropicModel = z
  .object({
    type: z.literal("model"),
    id: z.string().meta({ description: "Value for `model`", example: "demo/chat" }),
    display_name: z.string().meta({ example: "demo/chat" }),
    created_at: timestamp,
    lifecycle: z.literal("active"),
    line: z.null(),
    capabilities: z.null(),
    max_input_tokens: z.null(),
    max_tokens: z.null(),
    deprecated_at: z.null(),
    retires_at: z.null(),
  })
  .meta({ id: "VendorbModel", description: "A model in the format of Anthropic's API" });
export type AnthropicModel = z.infer<typeof anthropicModel>;

export const anthropicModels = z
  .object({
    data: z.array(anthropicModel),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .meta({ id: "VendorbModels" });
export type AnthropicModels = z.infer<typeof anthropicModels>;

const cursor = (description: string) => cursorText(200).meta({ description });

/** The query of GET /vendorb/models. */
export const anthropicModelsQuery = z.object({
  limit: integerText(1, 1_000).default(20).meta({ description: "Maximum number of models" }),
  after_id: cursor("ID of a model: lists the models after it"),
  before_id: cursor("ID of a model: lists the models before it"),
});
export type AnthropicModelsQuery = z.infer<typeof anthropicModelsQuery>;

const anthropicErrorType = z.enum([
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "conflict_error",
  "rate_limit_error",
  "timeout_error",
  "api_error",
  "overloaded_error",
]);
export type AnthropicErrorType = z.infer<typeof anthropicErrorType>;

const envelope = {
  type: z.literal("error"),
  error: z.object({
    type: anthropicErrorType,
    message: z.string(),
    details: z.object({ error_code: z.string() }).optional(),
  }),
  request_id: z.string().nullable(),
};

export const anthropicErrorBody = z.object(envelope).meta({
  id: "VendorbError",
  description: "An error in the format of Anthropic's API",
});
export type AnthropicErrorBody = z.infer<typeof anthropicErrorBody>;

/** The body of a 422: the API's own format and the convention's combined. */
export const anthropicInvalid = validationError.extend(envelope).meta({
  id: "VendorbValidationError",
  description: "All validation errors, and the first one in the format of Anthropic's API",
});
