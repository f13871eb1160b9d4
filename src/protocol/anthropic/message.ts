/**
 * Messages of the Anthropic convention. `vendorb` is the contract's name for Anthropic's API: the calls
 * below /v1/vendorb accept its requests and return its responses. Only fields that Auspex uses are
 * validated; the rest is passed to the model. Containers' responses are read leniently.
 */
import { z } from "zod";
import { json } from "../common.ts";
import { openAiModelName, openAiWebhook } from "../openai/chat.ts";

/** The convention's own limit of one request. */
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
export type MessageRequest = z.infer<typeof messageRequest>;

const { max_tokens: _, ...counted } = example;

/** The body of POST /vendorb/messages/count_tokens. */
export const countRequest = conversation.meta({ example: counted });
export type CountRequest = z.infer<typeof countRequest>;

export const tokenCount = z
  .object({ input_tokens: z.int().nonnegative() })
  .meta({ id: "VendorbTokenCount", example: { input_tokens: 14 } });
export type TokenCount = z.infer<typeof tokenCount>;
