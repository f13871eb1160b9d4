/** How a version takes a chat as the input of a prediction. */

import { interfaceOf } from "../../../domain/models/remote.ts";
import { type Field, formFields } from "../../../domain/schemas/input-form.ts";
import { SchemaResolver } from "../../../domain/schemas/input-form-schema.ts";
import { versionSchema } from "../../../domain/schemas/version-schemas.ts";
import { fieldsOf, listOf } from "../../../lib/fields.ts";
import type { Json } from "../../../protocol/common.ts";
import type { Compatibilities, Configuration, Schemas } from "../../../protocol/model.ts";

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
  const { messages, input } = fieldsOf(properties);
  const message = resolver.resolve(resolver.resolve(messages ?? input).items);
  const { content } = fieldsOf(message.properties);
  if (content === undefined) return true;
  const branches = listOf(fieldsOf(content).anyOf ?? fieldsOf(content).oneOf ?? [content]);
  const lists = branches
    .map((branch) => resolver.resolve(branch))
    .filter(({ type }) => [type ?? "array"].flat().includes("array"));
  if (lists.length === 0) return false;
  const types = lists.flatMap(({ items }) => typesOfParts(items ?? null, resolver));
  return types.length === 0 || types.some((type) => PICTURE_PARTS.includes(String(type)));
}

/** Returns the listed types; none when the schema lists none. */
function typesOfParts(items: Json, resolver: SchemaResolver): Json[] {
  const { anyOf, oneOf } = fieldsOf(items);
  return listOf(anyOf ?? oneOf ?? [items]).flatMap((part) => {
    const { type } = fieldsOf(resolver.resolve(part).properties);
    const { const: only, enum: several } = fieldsOf(type);
    return only === undefined ? listOf(several) : [only];
  });
}

const OWN = new Set(
  "messages input instructions system model stream stream_options tools tool_choice".split(" "),
);

interface Version {
  schemas: Schemas;
  configuration: Configuration;
}

/** Returns the fields of the schema. The schema of a server often has none: then those of its API. */
export function chatSettings({ schemas, configuration }: Version, wire: ChatWire): Field[] {
  const fields = formFields(versionSchema(schemas, "input")).filter(({ name }) => !OWN.has(name));
  if (fields.length > 0 || interfaceOf(configuration) !== "vendora") return fields;
  return formFields({ properties: SAMPLING[wire] });
}

/** A server refuses tools that it cannot use; a Cog model names what it takes. */
export function takesTools({ schemas, configuration }: Version): boolean {
  if (interfaceOf(configuration) === "vendora") return true;
  const schema = versionSchema(schemas, "input");
  return "tools" in fieldsOf(new SchemaResolver(schema).resolve(schema).properties);
}

const TEMPERATURE: Json = {
  type: "number",
  minimum: 0,
  maximum: 2,
  title: "Temperature",
  description: "Higher values give more varied replies",
};
const TOP_P: Json = {
  type: "number",
  minimum: 0,
  maximum: 1,
  title: "Top p",
  description: "Sample only from the most likely tokens, up to this total probability",
};
const limit = (title = "Maximum tokens"): Json => ({
  type: "integer",
  minimum: 1,
  title,
  description: "The reply stops at this limit",
});
const SEED: Json = {
  type: "integer",
  title: "Seed",
  description: "Use the same seed to get the same reply, if the model supports it",
};

const SAMPLING: Record<ChatWire, { [name: string]: Json }> = {
  chat: { temperature: TEMPERATURE, max_tokens: limit(), top_p: TOP_P, seed: SEED },
  responses: { temperature: TEMPERATURE, max_output_tokens: limit(), top_p: TOP_P },
  messages: { temperature: TEMPERATURE, max_tokens: limit(), top_p: TOP_P },
};
