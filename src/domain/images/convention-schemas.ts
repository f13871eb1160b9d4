/** Schemas of servers that speak OpenAI's API: what a caller needs, and the server checks the rest. */
import type { Json } from "../../protocol/common.ts";
import type { Compatibilities, Schemas } from "../../protocol/model.ts";

type Properties = { [name: string]: Json };

const MESSAGES: Properties = {
  messages: {
    type: "array",
    description: "The conversation, as in chat completions",
    items: { type: "object" },
    minItems: 1,
    "x-order": 0,
  },
};

const SAMPLING: Properties = {
  max_tokens: {
    type: ["integer", "null"],
    description: "The maximum number of tokens to generate",
    minimum: 1,
    "x-order": 1,
  },
  temperature: {
    type: ["number", "null"],
    description: "0 always picks the likeliest token",
    minimum: 0,
    maximum: 2,
    "x-order": 2,
  },
  top_p: {
    type: ["number", "null"],
    description: "Samples from the likeliest tokens with this total probability",
    minimum: 0,
    maximum: 1,
    "x-order": 3,
  },
  seed: {
    type: ["integer", "null"],
    description: "The same seed gives the same answer",
    "x-order": 4,
  },
};

const TEXTS: Properties = {
  input: { type: ["string", "array"], description: "A text, or a list of them", "x-order": 0 },
};

/** The input is the body of a call, and so is the output, or its events. */
export function conventionSchemas({
  vendora_chat_completions: chats,
  vendora_responses: responds,
  vendora_embeddings: embeds,
}: Compatibilities): Schemas {
  const properties: Properties = {
    ...(chats && MESSAGES),
    ...((embeds || (responds && !chats)) && TEXTS),
    ...(chats && SAMPLING),
  };
  // One that answers several calls is given the body of one.
  const required = "messages" in properties === "input" in properties ? [] : requiredOf(properties);
  return {
    prediction: {
      input: {
        type: "object",
        ...(Object.keys(properties).length > 0 && { properties }),
        ...(required.length > 0 && { required }),
      },
      output: embeds && !chats && !responds ? { type: "object" } : {},
      stream_output: chats || responds,
    },
  };
}

const requiredOf = (properties: Properties) =>
  ["messages", "input"].filter((name) => name in properties);
