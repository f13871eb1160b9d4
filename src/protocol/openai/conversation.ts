/** Conversations of the OpenAI convention. */
import { z } from "zod";
import { orNull } from "../common.ts";
import { responseItem } from "./response.ts";

/** Items that one call adds, as in the published schema. */
const MAX_ADDED = 20;

const PAIRS = 16;
const NAME = 64;
const VALUE = 512;

/** The object is unchanged: `z.record` drops a property named `__proto__`. */
const metadata = z
  .custom<Record<string, string>>()
  .check(({ value, issues }) => {
    const isText = (one: unknown) => typeof one === "string" && one.length <= VALUE;
    if (typeof value !== "object" || value === null || Array.isArray(value))
      issues.push({ code: "invalid_type", expected: "record", input: value });
    else if (
      Object.keys(value).length > PAIRS ||
      Object.entries(value).some(([name, one]) => name.length > NAME || !isText(one))
    ) {
      const message = `Use at most ${PAIRS} pairs, with keys of up to ${NAME} and text values of up to ${VALUE} characters`;
      issues.push({ code: "custom", message, input: value });
    }
  })
  .meta({
    description: "Up to 16 key-value pairs",
    type: "object",
    maxProperties: PAIRS,
    propertyNames: { maxLength: NAME },
    additionalProperties: { type: "string", maxLength: VALUE },
  });

const items = z.array(responseItem).max(MAX_ADDED);

/** The body of POST /vendora/conversations. */
export const newConversation = z
  .strictObject({ metadata: orNull(metadata).optional(), items: orNull(items).optional() })
  .meta({ example: { metadata: { topic: "tea" }, items: [{ role: "user", content: "Go on" }] } });
export type NewConversation = z.infer<typeof newConversation>;

/** The body of POST /vendora/conversations/{conversation_id}. */
export const conversationUpdate = z
  .strictObject({ metadata: orNull(metadata) })
  .meta({ example: { metadata: { topic: "tea" } } });

/** The body of POST /vendora/conversations/{conversation_id}/items. */
export const newItems = z
  .strictObject({ items: items.min(1) })
  .meta({ example: { items: [{ role: "user", content: "Go on" }] } });

const ID = "conv_6f1c9a40b2d34e5f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f";

export const conversation = z
  .object({
    id: z.string(),
    object: z.literal("conversation"),
    created_at: z.int().meta({ description: "Creation time in Unix seconds" }),
    metadata,
  })
  .meta({ id: "Conversation", description: "A conversation in the format of OpenAI's API" });
export type Conversation = z.infer<typeof conversation>;

export const CONVERSATION_EXAMPLE = {
  id: ID,
  object: "conversation",
  created_at: 1_795_000_000,
  metadata: { topic: "tea" },
};

export const deletedConversation = z
  .object({ id: z.string(), object: z.literal("conversation.deleted"), deleted: z.literal(true) })
  .meta({ id: "DeletedConversation" });

export const oneConversation = z.object({
  conversation_id: z
    .string()
    .max(100)
    .meta({ description: "ID of the conversation, `conv_…`", example: ID }),
});

export const oneItem = oneConversation.extend({
  item_id: z
    .string()
    .max(100)
    .meta({ description: "ID of the item", example: "msg_01980c3e7b0a7c5e9d523f6a1b2c4d5e" }),
});
