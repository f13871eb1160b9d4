/**
 * Chat completions of the OpenAI convention. `vendora` is the contract's name for OpenAI's API: the
 * calls below /v1/vendora accept its requests and return its responses. Only fields that Auspex uses
 * are validated; the rest is passed to the model. Containers' responses are parsed leniently.
 */
import { z } from "zod";
import { isObject, withoutNulls } from "../../lib/json.ts";
import { json, orNull } from "../common.ts";
import { webhook } from "../webhook.ts";

const message = z.looseObject({ role: z.string().min(1).max(64) });

/** `owner/name` or `owner/name:version`. */
export const openAiModelName = z.string().min(1).max(200);

/** Not part of the convention: containers do not receive it. */
export const openAiWebhook = orNull(webhook)
  .optional()
  .meta({ description: "Auspex extension: where to send events, as in POST /predictions" });

/** The body of POST /vendora/chat/completions. */
export const chatRequest = z
  .object({
    model: openAiModelName,
    messages: z.array(message).min(1).max(10_000),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    webhook: openAiWebhook,
  })
  .catchall(json)
  .meta({
    example: {
      model: "demo/chat",
      messages: [{ role: "user", content: "Who is the Mad Hatter?" }],
    },
  });

const toolCall = z.looseObject({
  index: z.int().nonnegative().nullish(),
  id: z.string().nullish(),
  custom: z.looseObject({ name: z.string().nullish() }).nullish(),
  function: z
    .looseObject({ name: z.string().nullish(), arguments: z.string().nullish() })
    .nullish(),
});

const messageContent = z.looseObject({
  role: z.string().nullish(),
  content: z.string().nullish(),
  refusal: z.string().nullish(),
  /** The reasoning of a model; some servers call the field `reasoning`. */
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
});
export type ChatDelta = z.infer<typeof messageContent>;

export const chatUsage = z.looseObject({
  prompt_tokens: z.int().nonnegative(),
  completion_tokens: z.int().nonnegative().optional(),
  total_tokens: z.int().nonnegative().optional(),
});
export type ChatUsage = z.infer<typeof chatUsage>;

/** Usage as servers report it: null is a count that they do not know. */
export const usageBlock = z
  .preprocess((usage) => (isObject(usage) ? withoutNulls(usage) : usage), chatUsage)
  .nullish();

/** Null as absent, as some servers have it. */
export const choiceIndex = z
  .int()
  .nonnegative()
  .nullish()
  .transform((index) => index ?? 0);

const choice = { index: choiceIndex, finish_reason: z.string().nullish() };

export const chatChunk = z.looseObject({
  choices: z.array(
    z.looseObject({
      ...choice,
      delta: messageContent.nullish().transform((delta): ChatDelta => delta ?? {}),
    }),
  ),
  usage: usageBlock,
});
export type ChatChunk = z.infer<typeof chatChunk>;

export const chatCompletion = z.looseObject({
  choices: z.array(z.looseObject({ ...choice, message: messageContent })).min(1),
  usage: usageBlock,
});
export type ChatCompletion = z.infer<typeof chatCompletion>;

/** The convention's limit of inputs per request; texts are limited by the 10 MB body. */
export const MAX_INPUTS = 2_048;
export const text = z.string().max(10_000_000);
const tokens = z
  .array(
    z
      .int()
      .min(0)
      .max(2 ** 31 - 1),
  )
  .min(1)
  .max(1_000_000);

export const textsOrTokens = z.union([
  text,
  z.array(text).min(1).max(MAX_INPUTS),
  tokens,
  z.array(tokens).min(1).max(MAX_INPUTS),
]);

/** The body of POST /vendora/completions. */
export const completionRequest = z
  .object({
    model: openAiModelName,
    prompt: textsOrTokens,
    stream: z.boolean().nullish(),
    stream_options: chatRequest.shape.stream_options,
    webhook: openAiWebhook,
  })
  .catchall(json)
  .meta({ example: { model: "demo/text-generation", prompt: "The Hatter opened his eyes" } });

/** A container's response, or a chunk of its stream: they have the same shape. */
export const completionChunk = z.looseObject({
  choices: z.array(
    z.looseObject({
      index: choiceIndex,
      text: z.string().nullish(),
      finish_reason: z.string().nullish(),
    }),
  ),
  usage: usageBlock,
});
export type CompletionChunk = z.infer<typeof completionChunk>;
