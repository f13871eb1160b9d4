/**
 * Chat completions of the vendora convention. Requests are checked where Auspex itself looks at
 * them; all else in them is the model's. Answers are read as loosely as containers write them.
 */
import { z } from "zod";
import { json, orNull } from "../common.ts";
import { webhook } from "../webhook.ts";

const message = z.looseObject({ role: z.string().min(1).max(64) });

/** `owner/name` or `owner/name:version`. */
export const vendoraModelName = z.string().min(1).max(200);

/** Not of the convention: containers never see it. */
export const vendoraWebhook = orNull(webhook)
  .optional()
  .meta({ description: "Of Auspex: who is told what becomes of it, as in POST /predictions" });

/** The body of POST /vendora/chat/completions. */
export const chatRequest = z
  .object({
    model: vendoraModelName,
    messages: z.array(message).min(1).max(10_000),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    webhook: vendoraWebhook,
  })
  .catchall(json)
  .meta({
    example: {
      model: "demo/scribe",
      messages: [{ role: "user", content: "Who is the Mad Hatter?" }],
    },
  });
export type ChatRequest = z.infer<typeof chatRequest>;

/** Of a call: in a stream its pieces, by `index`; whole otherwise. */
const toolCall = z.looseObject({
  index: z.int().nonnegative().optional(),
  id: z.string().nullish(),
  function: z
    .looseObject({ name: z.string().nullish(), arguments: z.string().nullish() })
    .nullish(),
});

const said = z.looseObject({
  role: z.string().nullish(),
  content: z.string().nullish(),
  refusal: z.string().nullish(),
  /** Of models that think aloud; some servers say `reasoning`. */
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
});
export type Said = z.infer<typeof said>;

export const chatUsage = z.looseObject({
  prompt_tokens: z.int().nonnegative(),
  completion_tokens: z.int().nonnegative().optional(),
  total_tokens: z.int().nonnegative().optional(),
});
export type ChatUsage = z.infer<typeof chatUsage>;

const choice = { index: z.int().nonnegative().default(0), finish_reason: z.string().nullish() };

/** A piece of a stream. */
export const chatChunk = z.looseObject({
  choices: z.array(z.looseObject({ ...choice, delta: said.default({}) })),
  usage: chatUsage.nullish(),
});
export type ChatChunk = z.infer<typeof chatChunk>;

/** An answer in one piece. */
export const chatCompletion = z.looseObject({
  choices: z.array(z.looseObject({ ...choice, message: said })).min(1),
  usage: chatUsage.nullish(),
});
export type ChatCompletion = z.infer<typeof chatCompletion>;
