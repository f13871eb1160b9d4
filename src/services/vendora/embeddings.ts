/** Embeddings: in the form that was asked for, whatever the container has made of it. */
import { embeddingsOf } from "../../domain/vendora/embedding.ts";
import type { PredictionWithIO } from "../../protocol/prediction.ts";
import type { EmbeddingRequest } from "../../protocol/vendora/embedding.ts";
import type { Services } from "../services.ts";
import { outputsOf } from "./calls.ts";
import { failureOf, translated } from "./failure.ts";

export function embeddingList(
  { settings }: Services,
  { model, encoding_format }: EmbeddingRequest,
  ended: PredictionWithIO,
): object {
  const failure = failureOf(ended, settings.vendoraTimeoutSeconds);
  if (failure) throw failure;
  const format = encoding_format ?? "float";
  return translated(() => embeddingsOf(model, outputsOf(ended), format, ended.metrics));
}
