/** How a version takes a chat as the input of a prediction. */

import { listOf, objectOf, SchemaResolver } from "../../../domain/schemas/input-form-schema.ts";
import type { Json } from "../../../protocol/common.ts";
import type { Compatibilities } from "../../../protocol/model.ts";

/** The shape of the input: that of chat completions, of responses, or of Anthropic's messages. */
export type ChatWire = "chat" | "responses" | "messages";

/** As `callOf` reads inputs: `messages` are a chat if the version has chats. Undefined without any. */
export function chatWire(compatibilities: Compatibilities): ChatWire | undefined {
  if (compatibilities.vendora_chat_completions) return "chat";
  if (compatibilities.vendorb_messages) return "messages";
  return compatibilities.vendora_responses ? "responses" : undefined;
}

const PICTURE_PARTS = ["image_url", "input_image", "image"];

/**
 * Whether messages may have pictures. A schema that lists the types of parts, or has content as text
 * alone, says so; most servers publish none, and refuse what they cannot read.
 */
export function takesPictures(schema: Json): boolean {
  const resolver = new SchemaResolver(schema);
  const { properties } = resolver.resolve(schema);
  const { messages, input } = objectOf(properties);
  const message = resolver.resolve(resolver.resolve(messages ?? input).items);
  const { content } = objectOf(message.properties);
  if (content === undefined) return true;
  const branches = listOf(objectOf(content).anyOf ?? objectOf(content).oneOf ?? [content]);
  const lists = branches
    .map((branch) => resolver.resolve(branch))
    .filter(({ type }) => [type ?? "array"].flat().includes("array"));
  if (lists.length === 0) return false;
  const types = lists.flatMap(({ items }) => typesOfParts(items ?? null, resolver));
  return types.length === 0 || types.some((type) => PICTURE_PARTS.includes(String(type)));
}

/** Returns the listed types; none when the schema lists none. */
function typesOfParts(items: Json, resolver: SchemaResolver): Json[] {
  const { anyOf, oneOf } = objectOf(items);
  return listOf(anyOf ?? oneOf ?? [items]).flatMap((part) => {
    const { type } = objectOf(resolver.resolve(part).properties);
    const { const: only, enum: several } = objectOf(type);
    return only === undefined ? listOf(several) : [only];
  });
}
