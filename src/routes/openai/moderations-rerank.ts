/** POST /v1/vendora/moderations and /v1/vendora/rerank. */

import { limitWaitingRequest } from "../../middleware/concurrent-requests.ts";
import { begin, waitForEnd } from "../../middleware/openai.ts";
import { moderationRequest, rerankRequest } from "../../protocol/openai/tasks.ts";
import { exactLog } from "../../services/openai/log-reader.ts";
import { moderation, ranking } from "../../services/openai/moderations-rerank.ts";
import { router } from "../router.ts";
import {
  body,
  bodyResponse,
  callRoute,
  compatibleErrors,
  openAiJson,
  predictionHeaders,
} from "./document.ts";

const MODERATION = {
  id: "modr-01980c3e7b0a7c5e9d523f6a1b2c4d5e",
  model: "ada/guard",
  results: [
    { flagged: false, categories: { violence: false }, category_scores: { violence: 0.01 } },
  ],
};

const moderate = callRoute("moderations", moderationRequest, {
  path: "/vendora/moderations",
  operationId: "createModeration",
  summary: "Classify texts and images",
  description:
    "Classifies whether texts or images are harmful, in the format of OpenAI's API. The version must have the compatibility `vendora_moderations`. The model defines the categories. Closing the connection cancels the request. Requires the scope `predict`.",
  responses: {
    200: {
      ...bodyResponse(
        "One result per input",
        body("Moderation", "A moderation in the format of OpenAI's API"),
        MODERATION,
      ),
      headers: predictionHeaders,
    },
    ...compatibleErrors,
  },
});

const RANKING = {
  id: "rerank-01980c3e7b0a7c5e9d523f6a1b2c4d5e",
  model: "ada/reranker",
  results: [{ index: 0, relevance_score: 0.98 }],
  usage: { prompt_tokens: 14, total_tokens: 14 },
};

const rerank = callRoute("rerank", rerankRequest, {
  path: "/vendora/rerank",
  operationId: "rerankDocuments",
  summary: "Rank documents by relevance",
  description:
    "Ranks documents by their relevance to a query, in the format of Jina's and Cohere's APIs. The version must have the compatibility `vendora_rerank`. Returns the top `top_n`, best first. Closing the connection cancels the request. Requires the scope `predict`.",
  responses: {
    200: {
      ...bodyResponse(
        "The documents by their index in the request, best first",
        body("Ranking", "Documents by relevance, in the format of Jina's and Cohere's APIs"),
        RANKING,
      ),
      headers: predictionHeaders,
    },
    ...compatibleErrors,
  },
});

export const moderationAndRerankRoutes = router();

moderationAndRerankRoutes.openapi(moderate, async (c) => {
  const { services } = c.var;
  const beginning = () => {
    const { webhook, ...request } = c.req.valid("json");
    return begin(c, "moderations", request, webhook, c.req.valid("header"));
  };
  return limitWaitingRequest(c, async () =>
    openAiJson(moderation(services, await waitForEnd(c, await beginning(), exactLog))),
  );
});

moderationAndRerankRoutes.openapi(rerank, async (c) => {
  const { top_n } = c.req.valid("json");
  const { services } = c.var;
  const beginning = () => {
    const { webhook, ...request } = c.req.valid("json");
    return begin(c, "rerank", request, webhook, c.req.valid("header"));
  };
  return limitWaitingRequest(c, async () =>
    openAiJson(ranking(services, { top_n }, await waitForEnd(c, await beginning(), exactLog))),
  );
});
