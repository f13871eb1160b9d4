/** Completions of the vendora convention: the text that follows a prompt. */
import { z } from "zod";
import { json } from "../common.ts";
import { chatRequest, choiceIndex, toldUsage, vendoraModelName, vendoraWebhook } from "./chat.ts";
import { textsOrTokens } from "./prompt.ts";

/** The body of POST /vendora/completions. */
export const completionRequest = z
  .object({
    model: vendoraModelName,
    prompt: textsOrTokens,
    stream: z.boolean().nullish(),
    stream_options: chatRequest.shape.stream_options,
    webhook: vendoraWebhook,
  })
  .catchall(json)
  .meta({ example: { model: "demo/story", prompt: "The Hatter opened his eyes" } });
export type CompletionRequest = z.infer<typeof completionRequest>;

/** A container's response, or a chunk of its stream: they have the same shape. */
export const completionChunk = z.looseObject({
  choices: z.array(
    z.looseObject({
      index: choiceIndex,
      text: z.string().nullish(),
      finish_reason: z.string().nullish(),
    }),
  ),
  usage: toldUsage,
});
export type CompletionChunk = z.infer<typeof completionChunk>;
