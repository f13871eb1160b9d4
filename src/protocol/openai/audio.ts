/** Speech, transcriptions and translations of the OpenAI convention. */
import { z } from "zod";
import { numberIn } from "../../lib/exact-json.ts";
import { json } from "../common.ts";
import { openAiModelName, openAiWebhook } from "./chat.ts";

export const SPEECH_FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;
export type SpeechFormat = (typeof SPEECH_FORMATS)[number];

/** The body of POST /vendora/audio/speech. Models have limits of their own: the convention's is 4,096. */
export const speechRequest = z
  .object({
    model: openAiModelName,
    input: z.string().min(1).max(100_000),
    /** Clients always send one; a model with a single voice needs none. */
    voice: z
      .union([z.string().min(1).max(200), z.looseObject({ id: z.string().min(1).max(200) })])
      .nullish(),
    instructions: z.string().max(100_000).nullish(),
    response_format: z.enum(SPEECH_FORMATS).nullish(),
    speed: z.number().min(0.25).max(4).nullish(),
    stream_format: z.enum(["audio", "sse"]).nullish(),
    webhook: openAiWebhook,
  })
  .catchall(json)
  .meta({
    example: { model: "demo/text-to-speech", input: "All in the golden afternoon.", voice: "low" },
  });
export type SpeechRequest = z.infer<typeof speechRequest>;

const usage = z.looseObject({
  input_tokens: z.int().nonnegative(),
  output_tokens: z.int().nonnegative(),
  total_tokens: z.int().nonnegative(),
});
export type SpeechUsage = z.infer<typeof usage>;

/** An output of a server that speaks. Runners write bytes as such events, the first with the type. */
export const speechEvent = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("speech.audio.delta"),
    audio: z.string(),
    content_type: z.string().max(200).optional(),
  }),
  z.looseObject({ type: z.literal("speech.audio.done"), usage: usage.optional().catch(undefined) }),
]);

export const TRANSCRIPT_FORMATS = ["json", "text", "srt", "verbose_json", "vtt"] as const;

/** The URL of a file or of an upload of the account. */
const file = z.string().min(1).max(10_000);
const prompt = z.string().max(100_000).nullish();
const temperature = z.number().min(0).max(2).nullish();

const language = z.string().min(1).max(100);

/** The body of POST /vendora/audio/transcriptions. */
export const transcriptionRequest = z
  .object({
    model: openAiModelName,
    file,
    language: language.nullish(),
    languages: z.array(language).min(1).max(100).nullish(),
    prompt,
    response_format: z.enum([...TRANSCRIPT_FORMATS, "diarized_json"]).nullish(),
    temperature,
    timestamp_granularities: z
      .array(z.enum(["word", "segment"]))
      .max(2)
      .nullish(),
    include: z.array(z.string().max(100)).max(10).nullish(),
    stream: z.boolean().nullish(),
    webhook: openAiWebhook,
  })
  .catchall(json);
export type TranscriptionRequest = z.infer<typeof transcriptionRequest>;
export type TranscriptFormat = NonNullable<TranscriptionRequest["response_format"]>;

/** The body of POST /vendora/audio/translations. */
export const translationRequest = z
  .object({
    model: openAiModelName,
    file,
    prompt,
    response_format: z.enum(TRANSCRIPT_FORMATS).nullish(),
    temperature,
    webhook: openAiWebhook,
  })
  .catchall(json);

const seconds = z.preprocess((value) => numberIn(value) ?? value, z.number().min(0).max(1e9));

/** A part of a transcript. The times of some models are a pair, whose end may be missing at the very end. */
export const transcriptSegment = z.looseObject({
  start: seconds.nullish(),
  end: seconds.nullish(),
  timestamp: z.tuple([seconds, seconds.nullable()]).nullish(),
  text: z.string().nullish(),
  word: z.string().nullish(),
  words: z.array(json).nullish(),
  speaker: z.string().nullish(),
});
export type TranscriptSegment = z.infer<typeof transcriptSegment>;
