/** Embeddings of the vendora convention. */
import { z } from "zod";
import { json } from "../common.ts";
import { vendoraModelName, vendoraWebhook } from "./chat.ts";
import { textsOrTokens } from "./prompt.ts";

/** The body of POST /vendora/embeddings. */
export const embeddingRequest = z
  .object({
    model: vendoraModelName,
    input: textsOrTokens,
    /** Both official clients request base64 by default. */
    encoding_format: z.enum(["float", "base64"]).nullish(),
    dimensions: z.int().min(1).max(1_000_000).nullish(),
    webhook: vendoraWebhook,
  })
  .catchall(json)
  .meta({ example: { model: "demo/meaning", input: ["cat", "kitten"] } });
export type EmbeddingRequest = z.infer<typeof embeddingRequest>;
