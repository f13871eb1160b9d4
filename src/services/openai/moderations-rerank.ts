/** Answers of models that judge texts: moderations and rankings. */
import { moderationIdOf, rankingIdOf } from "../../domain/openai/call.ts";
import { moderationOf, rankingOf } from "../../domain/openai/moderations-rerank.ts";
import type { RerankRequest } from "../../protocol/openai/tasks.ts";
import type { Services } from "../services.ts";
import { type EndedCall, timeLimit } from "./calls.ts";
import { failureOf, translateOrFail } from "./failure.ts";

export function moderation(services: Services, ended: EndedCall): object {
  const { prediction, request, outputs } = succeeded(services, ended);
  const head = { id: moderationIdOf(prediction.id), model: request.model };
  return translateOrFail(() => moderationOf(head, outputs, prediction.cost));
}

export function ranking(
  services: Services,
  { top_n }: Pick<RerankRequest, "top_n">,
  ended: EndedCall,
): object {
  const { prediction, request, outputs } = succeeded(services, ended);
  const head = { id: rankingIdOf(prediction.id), model: request.model, top_n };
  return translateOrFail(() => rankingOf(head, outputs, prediction));
}

function succeeded(services: Services, ended: EndedCall): EndedCall {
  const failure = failureOf(ended.prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  return ended;
}
