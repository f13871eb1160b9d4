/** Calls of the conventions, in the wire formats of OpenAI's API and of Anthropic's API. */

import type { Json } from "../../protocol/common.ts";
import type { Compatibilities, Configuration } from "../../protocol/model.ts";
import type { OpenAiCall, ResponsesVia } from "../../protocol/runner.ts";
import { interfaceOf } from "../models/remote.ts";

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
    ...["vendora_chat_completions", "vendora_responses", "vendora_embeddings"],
    ...["vendora_images_generations", "vendora_images_edits", "vendora_audio_transcriptions"],
    ...["vendora_audio_translations", "vendora_audio_speech", "vendora_completions"],
    ...["vendora_moderations", "vendora_rerank"],
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

/** The call that is the input of an ordinary prediction of the interface `vendora`; null for others. */
export function callOf(
  { compatibilities, configuration }: Version,
  input: object,
): OpenAiCall | null {
  if (interfaceOf(configuration) !== "vendora") return null;
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

/** The fields of calls' bodies that are files: a server of the convention has no schema that says so. */

const FIELDS: { [Call in OpenAiCall]?: string[] } = {
  images_edits: ["image", "mask"],
  audio_transcriptions: ["file"],
  audio_translations: ["file"],
};

const FILE = { type: "string", format: "uri" };
const FILES = { anyOf: [FILE, { type: "array", items: FILE }] };

/** Returns the fields that are files; undefined for a call that has none, whose body is JSON. */
export const fileFields = (call: OpenAiCall): string[] | undefined => FIELDS[call];

/** The schemas by call. They are always the same objects, since caches of schemas are keyed by them. */
const SCHEMAS = new Map<string, Json>(
  Object.entries(FIELDS).map(([call, names]) => {
    const properties = Object.fromEntries(names.map((name) => [name, FILES]));
    return [call, { type: "object", properties }];
  }),
);

/** Returns a JSON Schema of the body that describes only its files; undefined for a call that has none. */
export const bodyFiles = (call: OpenAiCall): Json | undefined => SCHEMAS.get(call);

/** Ids of the OpenAI convention: a prefix for the type, and the prediction's id. */

export const chatIdOf = (predictionId: string) => `chatcmpl-${hexOf(predictionId)}`;
export const completionIdOf = (predictionId: string) => `cmpl-${hexOf(predictionId)}`;
export const moderationIdOf = (predictionId: string) => `modr-${hexOf(predictionId)}`;
export const rankingIdOf = (predictionId: string) => `rerank-${hexOf(predictionId)}`;
export const responseIdOf = (predictionId: string) => `resp_${hexOf(predictionId)}`;

export function predictionIdOf(responseId: string): string | undefined {
  const [, hex] = /^resp_([0-9a-f]{32})$/.exec(responseId) ?? [];
  return hex?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Returns the response of an item by the item's id; undefined for an id that Auspex has not made. */
export function responseIdIn(itemId: string): string | undefined {
  const [, hex] = /^[a-z_]+_([0-9a-f]{32})_\d{1,6}$/.exec(itemId) ?? [];
  return hex && `resp_${hex}`;
}

const hexOf = (uuid: string) => uuid.replaceAll("-", "");
