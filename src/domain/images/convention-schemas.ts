/** Schemas of servers that speak OpenAI's API: what a caller needs. The server checks the rest. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Compatibilities, Schemas } from "../../protocol/model.ts";
import { SPEECH_FORMATS } from "../../protocol/openai/audio.ts";

type Properties = { [name: string]: Json };

const optional = (type: string, description: string, more: Properties = {}): Properties => ({
  type: [type, "null"],
  description,
  ...more,
});

const fileOf = (description: string): Properties => ({
  type: "string",
  format: "uri",
  description,
});

const MESSAGES: Properties = {
  messages: {
    type: "array",
    description: "Messages of the conversation, in OpenAI's format",
    items: { type: "object" },
    minItems: 1,
  },
};

const SAMPLING: Properties = {
  max_tokens: optional("integer", "Maximum number of tokens to generate", { minimum: 1 }),
  temperature: optional("number", "0 always picks the likeliest token", { minimum: 0, maximum: 2 }),
  top_p: optional(
    "number",
    "Sample only from the most likely tokens, up to this total probability",
    {
      minimum: 0,
      maximum: 1,
    },
  ),
  seed: optional("integer", "Use the same seed to get the same answer"),
};

const TEXTS: Properties = {
  input: { type: ["string", "array"], description: "A text, or a list of texts" },
};

const PROMPT: Properties = {
  prompt: { type: ["string", "array"], description: "Text to continue, or a list of texts" },
};

const RANKED: Properties = {
  query: { type: ["string", "object"], description: "Query to rank the documents by" },
  documents: { type: "array", description: "Texts", minItems: 1 },
  top_n: optional("integer", "Number of top results to return", { minimum: 1 }),
};

const SPOKEN: Properties = {
  input: { type: "string", description: "Text to read aloud", minLength: 1 },
};

const SPEECH: Properties = {
  ...SPOKEN,
  voice: { type: "string", description: "Voice" },
  response_format: optional("string", "Audio format", {
    enum: [...SPEECH_FORMATS, null],
  }),
  speed: optional("number", "Speaking speed", { minimum: 0.25, maximum: 4 }),
};

const RECORDING: Properties = { file: fileOf("Audio with speech") };

const AUDIO: Properties = {
  ...RECORDING,
  language: optional("string", "Language of the speech, such as en"),
  prompt: optional("string", "Preceding text, to guide the style"),
  response_format: optional("string", "Format of the transcript", {
    enum: ["json", "text", "srt", "verbose_json", "vtt", null],
  }),
};

const DRAWN: Properties = {
  prompt: { type: "string", description: "What the image shows", minLength: 1 },
};

/** The field for an image. In the body of an ordinary prediction, a call with an image is an edit. */
const EDITED: Properties = { image: fileOf("Image to edit") };

const MASK: Properties = {
  mask: fileOf("Mask. Its transparent areas are edited"),
};

const PICTURE: Properties = {
  size: optional("string", "In pixels, such as 1024x1024"),
  n: optional("integer", "Number of images", { minimum: 1, maximum: 10 }),
};

/** Returns the properties with the places in which a form shows them. */
const ordered = (properties: Properties): Properties =>
  Object.fromEntries(
    Object.entries(properties).map(([name, part], n) => [
      name,
      isObject(part) ? { ...part, "x-order": n } : part,
    ]),
  );

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
  const properties = ordered({
    ...(chats && MESSAGES),
    ...(draws && { ...DRAWN, ...(edits && EDITED) }),
    ...(draws && isOnly && { ...(edits && MASK), ...PICTURE }),
    ...(continues && PROMPT),
    ...((embeds || moderates || (responds && !chats)) && TEXTS),
    ...(ranks && RANKED),
    ...((chats || continues) && SAMPLING),
    ...(speaks && (isOnly ? SPEECH : SPOKEN)),
    ...(hears && (isOnly ? AUDIO : RECORDING)),
  });
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
