/** Embeddings, moderations and rerankings of the OpenAI convention. */
import { z } from "zod";
import { exactNumber, json } from "../common.ts";
import { MAX_INPUTS, openAiModelName, openAiWebhook, text, textsOrTokens } from "./chat.ts";

/** The body of POST /vendora/embeddings. */
export const embeddingRequest = z
  .object({
    model: openAiModelName,
    input: textsOrTokens,
    /** The official clients request base64 by default. */
    encoding_format: z.enum(["float", "base64"]).nullish(),
    dimensions: z.int().min(1).max(1_000_000).nullish(),
    webhook: openAiWebhook,
  })
  .catchall(json)
  .meta({ example: { model: "demo/embeddings", input: ["cat", "kitten"] } });
export type EmbeddingRequest = z.infer<typeof embeddingRequest>;

/** The body of POST /vendora/moderations. */
export const moderationRequest = z
  .object({
    model: openAiModelName,
    /** Texts, or parts that are texts and images. */
    input: z.union([
      text,
      z.array(text).min(1).max(MAX_INPUTS),
      z
        .array(z.looseObject({ type: z.string().max(64) }))
        .min(1)
        .max(MAX_INPUTS),
    ]),
    webhook: openAiWebhook,
  })
  .catchall(json)
  .meta({ example: { model: "ada/guard", input: "I like rain." } });

export const moderation = z.looseObject({ results: z.array(z.looseObject({})).min(1) });

/** A text, `{"text": …}`, or what else a model takes, such as an image. */
const document = z.union([text, z.record(z.string(), json)]);

/** The body of POST /vendora/rerank, which is Jina's and Cohere's: OpenAI has no such call, and vLLM and llama.cpp serve it. */
export const rerankRequest = z
  .object({
    model: openAiModelName,
    query: document,
    documents: z.array(document).min(1).max(MAX_INPUTS),
    top_n: z.int().min(1).max(1_000_000).nullish(),
    webhook: openAiWebhook,
  })
  .catchall(json)
  .meta({
    example: {
      model: "ada/reranker",
      query: "Who owns the tea?",
      documents: ["The Hatter's tea", "A railway timetable"],
      top_n: 1,
    },
  });
export type RerankRequest = z.infer<typeof rerankRequest>;

/** A container's response. A score keeps its digits (lib/exact-json.ts). */
export const ranking = z.looseObject({
  results: z
    .array(z.looseObject({ index: z.int().nonnegative(), relevance_score: exactNumber }))
    .max(MAX_INPUTS),
});
export type Ranking = z.infer<typeof ranking>;
