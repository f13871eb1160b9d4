/** The output of a reranker in the format of the call: best first, and at most as many as were requested. */
import { z } from "zod";
import { numberIn } from "../../lib/exact-json.ts";
import { withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import { chatUsage } from "../../protocol/openai/chat.ts";
import { type Ranking, ranking } from "../../protocol/openai/tasks.ts";
import { fieldsOf } from "./response-json.ts";
import { TranslationFailed } from "./translation.ts";

export interface RankingOptions {
  id: string;
  model: string;
  /** The number of results. Not all servers know it. */
  top_n?: number | null | undefined;
}

/** @throws TranslationFailed */
export function rankingOf(
  { top_n, ...head }: RankingOptions,
  outputs: Json[],
  metrics: Metrics | null,
): object {
  const [output = null] = outputs;
  const { success, data, error } = ranking.safeParse(output);
  if (!success)
    throw new TranslationFailed(
      `The model's output is no ranking: ${z.prettifyError(error)}. Expected: {"results": [{"index": 0, "relevance_score": 0.5}]}.`,
    );
  const best = data.results.toSorted((a, b) => scoreOf(b) - scoreOf(a));
  return {
    ...withoutNulls(data),
    ...head,
    results: best.slice(0, top_n ?? undefined).map((one) => withoutNulls(one)),
    usage: usageOf(data.usage, metrics),
  };
}

const scoreOf = ({ relevance_score }: Ranking["results"][number]) => numberIn(relevance_score) ?? 0;

/** Returns the usage. Some servers count only the total, and TEI counts nothing. */
function usageOf(usage: unknown, metrics: Metrics | null) {
  const told = chatUsage.partial().safeParse(usage).data;
  const total = told?.total_tokens ?? told?.prompt_tokens ?? metrics?.input_tokens ?? 0;
  return { ...fieldsOf(usage), prompt_tokens: told?.prompt_tokens ?? total, total_tokens: total };
}
