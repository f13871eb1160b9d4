/**
 * Schemas of servers that speak OpenAI's API. They describe what a caller needs; the server checks the rest.
 */
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

const SPOKEN: Properties = {
  input: { type: "string", description: "The text to speak", minLength: 1, "x-order": 0 },
};

const SPEECH: Properties = {
  ...SPOKEN,
  voice: { type: "string", description: "Whose voice it is", "x-order": 1 },
  response_format: {
    type: ["string", "null"],
    description: "The format of the sound",
    enum: ["mp3", "opus", "aac", "flac", "wav", "pcm", null],
    "x-order": 2,
  },
  speed: {
    type: ["number", "null"],
    description: "How fast it speaks",
    minimum: 0.25,
    maximum: 4,
    "x-order": 3,
  },
};

const RECORDING: Properties = {
  file: {
    type: "string",
    format: "uri",
    description: "The audio in which somebody speaks",
    "x-order": 0,
  },
};

const AUDIO: Properties = {
  ...RECORDING,
  language: {
    type: ["string", "null"],
    description: "The language that is spoken, as in en",
    "x-order": 1,
  },
  prompt: {
    type: ["string", "null"],
    description: "Text that comes before, in the same style",
    "x-order": 2,
  },
  response_format: {
    type: ["string", "null"],
    description: "How the transcript is written",
    enum: ["json", "text", "srt", "verbose_json", "vtt", null],
    "x-order": 3,
  },
};

const DRAWN: Properties = {
  prompt: { type: "string", description: "What the picture shows", minLength: 1, "x-order": 0 },
};

/** The field for an image. In the body of an ordinary prediction, a call with an image is an edit. */
const EDITED: Properties = {
  image: { type: "string", format: "uri", description: "The picture to edit", "x-order": 1 },
};

const PICTURE: Properties = {
  size: {
    type: ["string", "null"],
    description: "In pixels, as in 1024x1024",
    "x-order": 3,
  },
  n: {
    type: ["integer", "null"],
    description: "How many pictures to make",
    minimum: 1,
    maximum: 10,
    "x-order": 4,
  },
};

const MASK: Properties = {
  mask: {
    type: "string",
    format: "uri",
    description: "A picture that is transparent where the other is edited",
    "x-order": 2,
  },
};

/** Returns the schemas of a server: the body of a call, and its answer or events. */
export function conventionSchemas({
  vendora_chat_completions: chats,
  vendora_responses: responds,
  vendora_embeddings: embeds,
  vendora_completions: completes,
  vendora_moderations: moderates,
  vendora_rerank: ranks,
  vendora_audio_speech: speaks,
  vendora_audio_transcriptions: transcribes,
  vendora_audio_translations: translates,
  vendora_images_generations: generates,
  vendora_images_edits: edits,
}: Compatibilities): Schemas {
  // A server that chats is called for chats: nearly all such servers complete, too.
  const continues = completes && !chats;
  const hears = transcribes || translates;
  const draws = generates || edits;
  const kinds = [chats || responds || completes, embeds, moderates, ranks, speaks, hears, draws];
  const isOnly = kinds.filter(Boolean).length === 1;
  const properties: Properties = {
    ...(chats && MESSAGES),
    ...(draws && { ...DRAWN, ...(edits && EDITED) }),
    ...(draws && isOnly && { ...PICTURE, ...(edits && MASK) }),
    ...(continues && PROMPT),
    ...((embeds || moderates || (responds && !chats)) && TEXTS),
    ...(ranks && RANKED),
    ...((chats || continues) && SAMPLING),
    ...(speaks && (isOnly ? SPEECH : SPOKEN)),
    ...(hears && (isOnly ? AUDIO : RECORDING)),
  };
  // A server that answers several calls requires no field, since the body may be that of any of them.
  const needs = [
    chats && ["messages"],
    continues && ["prompt"],
    "input" in properties && ["input"],
    ranks && ["query", "documents"],
    hears && ["file"],
    draws && ["prompt", ...(generates ? [] : ["image"])],
  ].filter((names) => names !== false);
  const [required = []] = needs.length === 1 ? needs : [];
  const streams = chats || responds || completes || speaks;
  return {
    prediction: {
      input: {
        type: "object",
        ...(Object.keys(properties).length > 0 && { properties }),
        ...(required.length > 0 && { required }),
      },
      output:
        !streams && !hears && (embeds || moderates || ranks || draws) ? { type: "object" } : {},
      stream_output: streams,
    },
  };
}
