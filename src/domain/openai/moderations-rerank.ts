/** The outputs of moderation models and of rerankers, in the format of their calls. */
import { z } from "zod";
import { numberIn } from "../../lib/exact-json.ts";
import { type Fields, fieldsOf, isFields, listOf } from "../../lib/fields.ts";
import { withoutNulls } from "../../lib/json.ts";
import { exactNumber, type Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import type { Cost } from "../../protocol/money.ts";
import { chatUsage } from "../../protocol/openai/chat.ts";
import { moderation, type Ranking, ranking } from "../../protocol/openai/tasks.ts";
import { NotSupportedByChat } from "./strict-chat.ts";
import { costIn, NO_COST, TranslationFailed } from "./translation.ts";

interface RankingOptions {
  id: string;
  model: string;
  /** The number of results. Not all servers know it. */
  top_n?: number | null | undefined;
}

/** @throws TranslationFailed */
export function rankingOf(
  { top_n, ...head }: RankingOptions,
  outputs: Json[],
  { metrics, cost }: { metrics: Metrics | null; cost?: Cost | null },
): object {
  const [output = null] = outputs;
  const { success, data, error } = ranking.safeParse(output);
  if (!success)
    throw new TranslationFailed(
      `The model's output is not a valid ranking: ${z.prettifyError(error)}. Expected: {"results": [{"index": 0, "relevance_score": 0.5}]}.`,
    );
  const best = data.results.toSorted((a, b) => scoreOf(b) - scoreOf(a));
  return {
    ...withoutNulls(data),
    ...head,
    results: best.slice(0, top_n ?? undefined).map((one) => withoutNulls(one)),
    usage: { ...usageOf(data.usage, metrics), ...costIn(cost) },
  };
}

const scoreOf = ({ relevance_score }: Ranking["results"][number]) => numberIn(relevance_score) ?? 0;

/** Returns the usage. Some servers count only the total, and TEI counts nothing. */
function usageOf(usage: unknown, metrics: Metrics | null) {
  const reported = chatUsage.partial().safeParse(usage).data;
  const total = reported?.total_tokens ?? reported?.prompt_tokens ?? metrics?.input_tokens ?? 0;
  return {
    ...fieldsOf(usage),
    prompt_tokens: reported?.prompt_tokens ?? total,
    total_tokens: total,
    ...NO_COST,
  };
}

/** @throws TranslationFailed */
export function moderationOf(
  head: { id: string; model: string },
  outputs: Json[],
  cost?: Cost | null,
): object {
  const [output = null] = outputs;
  const { success, data, error } = moderation.safeParse(output);
  if (success) {
    // The convention has no usage here. Its cost is where clients find that of other calls.
    const usage = { ...fieldsOf(data.usage), ...NO_COST, ...costIn(cost) };
    return { ...withoutNulls(data), ...head, usage };
  }
  throw new TranslationFailed(
    `The model's output is not a valid moderation: ${z.prettifyError(error)}. Expected: {"results": [{"flagged": …}]}.`,
  );
}

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
