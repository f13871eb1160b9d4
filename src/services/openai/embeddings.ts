/** Embeddings in the requested format, independent of the container's. */
import { embeddingsOf } from "../../domain/openai/embedding.ts";
import type { EmbeddingRequest } from "../../protocol/openai/tasks.ts";
import type { Services } from "../services.ts";
import { type EndedCall, timeLimit } from "./calls.ts";
import { failureOf, translateOrFail } from "./failure.ts";

export function embeddingList(
  services: Services,
  { model, encoding_format }: Pick<EmbeddingRequest, "model" | "encoding_format">,
  { prediction, outputs }: EndedCall,
): object {
  const failure = failureOf(prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  const format = encoding_format ?? "float";
  return translateOrFail(() => embeddingsOf(model, outputs, format, prediction.metrics));
}
