/** Speech of the vendora convention. */
import { z } from "zod";
import { json } from "../common.ts";
import { vendoraModelName, vendoraWebhook } from "./chat.ts";

export const SPEECH_FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;
export type SpeechFormat = (typeof SPEECH_FORMATS)[number];

/** The body of POST /vendora/audio/speech. Models have limits of their own: the convention's is 4,096. */
export const speechRequest = z
  .object({
    model: vendoraModelName,
    input: z.string().min(1).max(100_000),
    /** Clients always send one; a model with a single voice needs none. */
    voice: z
      .union([z.string().min(1).max(200), z.looseObject({ id: z.string().min(1).max(200) })])
      .nullish(),
    instructions: z.string().max(100_000).nullish(),
    response_format: z.enum(SPEECH_FORMATS).nullish(),
    speed: z.number().min(0.25).max(4).nullish(),
    stream_format: z.enum(["audio", "sse"]).nullish(),
    webhook: vendoraWebhook,
  })
  .catchall(json)
  .meta({ example: { model: "demo/crier", input: "All in the golden afternoon.", voice: "low" } });
export type SpeechRequest = z.infer<typeof speechRequest>;

const usage = z.looseObject({
  input_tokens: z.int().nonnegative(),
  output_tokens: z.int().nonnegative(),
  total_tokens: z.int().nonnegative(),
});
export type SpeechUsage = z.infer<typeof usage>;

/**
 * An output of a server that speaks. Runners write the bytes of a server's answer as such events, too; the
 * first of them then has the media type.
 */
export const speechEvent = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("speech.audio.delta"),
    audio: z.string(),
    content_type: z.string().max(200).optional(),
  }),
  z.looseObject({ type: z.literal("speech.audio.done"), usage: usage.optional().catch(undefined) }),
]);
