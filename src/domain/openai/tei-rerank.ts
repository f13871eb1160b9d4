/** Rerank in the format of TEI: at `/rerank`, with names of its own, and a list as its answer. */
import { z } from "zod";
import { exactNumber, type Json } from "../../protocol/common.ts";
import { type Fields, isFields, listOf } from "./response-json.ts";
import { NotSupportedByChat } from "./strict-fields.ts";

export const TEI_RERANK = "/rerank";

/** @throws NotSupportedByChat for a document that is no text */
export function teiRequestOf({
  documents,
  return_documents,
  model,
  top_n,
  ...rest
}: Fields): Fields {
  const texts = listOf(documents).map((document, n) => {
    const text = isFields(document) ? document.text : document;
    if (typeof text === "string") return text;
    throw new NotSupportedByChat(`documents[${n}]`, "the model's container takes texts only.");
  });
  return { ...rest, texts, return_text: return_documents === true };
}

const ranks = z.array(z.object({ index: z.int(), score: exactNumber, text: z.string().nullish() }));

/** Translates a list. Any other answer stays as it is, and is no ranking. */
export function rankingOfTei(answer: Json): Json {
  const { success, data } = ranks.safeParse(answer);
  if (!success) return answer;
  return {
    results: data.map(({ index, score, text }) => ({
      index,
      relevance_score: score,
      ...(typeof text === "string" && { document: { text } }),
    })),
  };
}
