/**
 * Calls of the conventions, in the wire formats of OpenAI's API and of Anthropic's API (anthropic).
 */
import type { Compatibilities, Configuration } from "../../protocol/model.ts";
import type { OpenAiCall, ResponsesVia } from "../../protocol/runner.ts";

interface Version {
  compatibilities: Compatibilities;
  configuration: Configuration;
}

type Flag = keyof Compatibilities;

/** The compatibilities that allow responses: they are translated for a version that has only chats. */
const RESPONSES = ["vendora_responses", "vendora_chat_completions"] as const satisfies Flag[];

/** The compatibilities that allow messages: they are translated for a version that has only chats. */
const MESSAGES = ["vendorb_messages", "vendora_chat_completions"] as const satisfies Flag[];

/** The compatibilities any of which a version needs for a call. */
export const COMPATIBILITIES = {
  chat_completions: ["vendora_chat_completions"],
  responses: RESPONSES,
  embeddings: ["vendora_embeddings"],
  messages: MESSAGES,
  count_tokens: MESSAGES,
  images_generations: ["vendora_images_generations"],
  images_edits: ["vendora_images_edits"],
  audio_transcriptions: ["vendora_audio_transcriptions"],
  audio_translations: ["vendora_audio_translations"],
  audio_speech: ["vendora_audio_speech"],
  completions: ["vendora_completions"],
  moderations: ["vendora_moderations"],
  rerank: ["vendora_rerank"],
} as const satisfies Record<OpenAiCall, Flag[]>;

/** The compatibilities of all calls of a convention. */
export const CONVENTION = {
  vendora: [
    "vendora_chat_completions",
    "vendora_responses",
    "vendora_embeddings",
    "vendora_images_generations",
    "vendora_images_edits",
    "vendora_audio_transcriptions",
    "vendora_audio_translations",
    "vendora_audio_speech",
    "vendora_completions",
    "vendora_moderations",
    "vendora_rerank",
  ],
  vendorb: MESSAGES,
} as const satisfies Record<string, Flag[]>;
export type Convention = keyof typeof CONVENTION;

export const conventionOf = (call: OpenAiCall): Convention =>
  call === "messages" || call === "count_tokens" ? "vendorb" : "vendora";

export function responsesViaOf({
  compatibilities,
}: Pick<Version, "compatibilities">): ResponsesVia {
  if (!compatibilities.vendora_responses) return "chat";
  return compatibilities.vendora_chat_completions ? "best" : "own";
}

/**
 * Returns the call that the input of an ordinary prediction is: a container with the interface `vendora`
 * accepts nothing else. Null for all other containers.
 */
export function callOf(
  { compatibilities, configuration }: Version,
  input: object,
): OpenAiCall | null {
  if (configuration.interface !== "vendora") return null;
  const { vendorb_messages, vendora_chat_completions } = compatibilities;
  if ("messages" in input)
    return vendorb_messages && !vendora_chat_completions ? "messages" : "chat_completions";
  const {
    vendora_audio_transcriptions: transcribes,
    vendora_audio_translations: translates,
    vendora_images_generations: generates,
    vendora_images_edits: edits,
  } = compatibilities;
  if ("file" in input && (transcribes || translates))
    return transcribes ? "audio_transcriptions" : "audio_translations";
  if (compatibilities.vendora_audio_speech && "voice" in input) return "audio_speech";
  if ("image" in input && edits) return "images_edits";
  if ("prompt" in input && compatibilities.vendora_completions) return "completions";
  if ("prompt" in input && (generates || edits))
    return generates ? "images_generations" : "images_edits";
  if ("documents" in input && compatibilities.vendora_rerank) return "rerank";
  if (compatibilities.vendora_responses) return "responses";
  if (compatibilities.vendora_embeddings) return "embeddings";
  if (compatibilities.vendora_moderations) return "moderations";
  return compatibilities.vendora_audio_speech ? "audio_speech" : "chat_completions";
}
