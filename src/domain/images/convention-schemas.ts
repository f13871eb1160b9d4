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

const PROMPT: Properties = {
  prompt: {
    type: ["string", "array"],
    description: "A text that is continued, or a list of them",
    "x-order": 0,
  },
};

const RANKED: Properties = {
  query: {
    type: ["string", "object"],
    description: "What the documents are ranked by",
    "x-order": 0,
  },
  documents: {
    type: "array",
    description: "Texts",
    minItems: 1,
    "x-order": 1,
  },
  top_n: {
    type: ["integer", "null"],
    description: "How many of the best to return",
    minimum: 1,
    "x-order": 2,
  },
};

/** The input is the body of a call, and so is the output, or its events. */
export function conventionSchemas({
  vendora_chat_completions: chats,
  vendora_responses: responds,
  vendora_embeddings: embeds,
  vendora_completions: completes,
  vendora_moderations: moderates,
  vendora_rerank: ranks,
}: Compatibilities): Schemas {
  // What chats is asked for that: nearly all such servers complete, too.
  const continues = completes && !chats;
  const properties: Properties = {
    ...(chats && MESSAGES),
    ...(continues && PROMPT),
    ...((embeds || moderates || (responds && !chats)) && TEXTS),
    ...(ranks && RANKED),
    ...((chats || continues) && SAMPLING),
  };
  const calls = CALLS.filter(([first = ""]) => first in properties);
  // One that answers several calls is given the body of one.
  const [required = []] = calls.length === 1 ? calls : [];
  const streams = chats || responds || completes;
  return {
    prediction: {
      input: {
        type: "object",
        ...(Object.keys(properties).length > 0 && { properties }),
        ...(required.length > 0 && { required }),
      },
      output: !streams && (embeds || moderates || ranks) ? { type: "object" } : {},
      stream_output: streams,
    },
  };
}

/** What each call cannot do without. */
const CALLS = [["messages"], ["prompt"], ["input"], ["query", "documents"]];
