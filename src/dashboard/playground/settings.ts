/** Settings of a chat besides its messages. */

import { type Field, formFields } from "../../domain/schemas/input-form.ts";
import { objectOf, SchemaResolver } from "../../domain/schemas/input-form-schema.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import type { Json } from "../../protocol/common.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { ChatWire } from "./chat/wire.ts";

/** Fields that the chat itself fills in. */
const OWN = new Set(
  "messages input instructions system model stream stream_options tools tool_choice".split(" "),
);

type Version = Pick<VersionRow, "schemas" | "configuration">;

/** Returns the fields of the schema. The schema of a server often has none: then those of its API. */
export function chatSettings({ schemas, configuration }: Version, wire: ChatWire): Field[] {
  const fields = formFields(versionSchema(schemas, "input")).filter(({ name }) => !OWN.has(name));
  if (fields.length > 0 || configuration.interface !== "vendora") return fields;
  return formFields({ properties: SAMPLING[wire] });
}

/** A server refuses tools that it cannot use; a Cog model names what it takes. */
export function takesTools({ schemas, configuration }: Version): boolean {
  if (configuration.interface === "vendora") return true;
  const schema = versionSchema(schemas, "input");
  return "tools" in objectOf(new SchemaResolver(schema).resolve(schema).properties);
}

const TEMPERATURE: Json = {
  type: "number",
  minimum: 0,
  maximum: 2,
  title: "Temperature",
  description: "0 is the likeliest answer; more is more varied",
};
const TOP_P: Json = {
  type: "number",
  minimum: 0,
  maximum: 1,
  title: "Top p",
  description: "Only the likeliest tokens with this total probability",
};
const limit = (title = "Maximum tokens"): Json => ({
  type: "integer",
  minimum: 1,
  title,
  description: "The answer ends there",
});
const SEED: Json = {
  type: "integer",
  title: "Seed",
  description: "The same seed gives the same answer, where the model can",
};

const SAMPLING: Record<ChatWire, { [name: string]: Json }> = {
  chat: { temperature: TEMPERATURE, max_tokens: limit(), top_p: TOP_P, seed: SEED },
  responses: { temperature: TEMPERATURE, max_output_tokens: limit(), top_p: TOP_P },
  messages: { temperature: TEMPERATURE, max_tokens: limit(), top_p: TOP_P },
};
