/** The output of a moderation model in the OpenAI convention's format. */
import { z } from "zod";
import { withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { moderation } from "../../protocol/openai/tasks.ts";
import { TranslationFailed } from "./translation.ts";

/** @throws TranslationFailed */
export function moderationOf(head: { id: string; model: string }, outputs: Json[]): object {
  const [output = null] = outputs;
  const { success, data, error } = moderation.safeParse(output);
  if (success) return { ...withoutNulls(data), ...head };
  throw new TranslationFailed(
    `The model's output is no moderation: ${z.prettifyError(error)}. Expected: {"results": [{"flagged": …}]}.`,
  );
}
