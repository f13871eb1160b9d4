/** Moderations of the vendora convention. */
import { z } from "zod";
import { json } from "../common.ts";
import { vendoraModelName, vendoraWebhook } from "./chat.ts";
import { MAX_INPUTS, text } from "./prompt.ts";

/** The body of POST /vendora/moderations. */
export const moderationRequest = z
  .object({
    model: vendoraModelName,
    /** Texts, or parts that are texts and images. */
    input: z.union([
      text,
      z.array(text).min(1).max(MAX_INPUTS),
      z
        .array(z.looseObject({ type: z.string().max(64) }))
        .min(1)
        .max(MAX_INPUTS),
    ]),
    webhook: vendoraWebhook,
  })
  .catchall(json)
  .meta({ example: { model: "ada/guard", input: "I like rain." } });
export type ModerationRequest = z.infer<typeof moderationRequest>;

/** A container's response. */
export const moderation = z.looseObject({ results: z.array(z.looseObject({})).min(1) });
