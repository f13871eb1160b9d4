/**
 * Rerank: documents by how much they have to do with a query. OpenAI's API has no such call; this is the one
 * of Jina and Cohere, which vLLM and llama.cpp serve.
 */
import { z } from "zod";
import { exactNumber, json } from "../common.ts";
import { vendoraModelName, vendoraWebhook } from "./chat.ts";
import { MAX_INPUTS, text } from "./prompt.ts";

/** A text, `{"text": …}`, or what else a model takes, such as an image. */
const document = z.union([text, z.record(z.string(), json)]);

/** The body of POST /vendora/rerank. */
export const rerankRequest = z
  .object({
    model: vendoraModelName,
    query: document,
    documents: z.array(document).min(1).max(MAX_INPUTS),
    top_n: z.int().min(1).max(1_000_000).nullish(),
    webhook: vendoraWebhook,
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
