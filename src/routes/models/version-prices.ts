/** The prices of versions: …/versions/{number}/prices for owners, and the same below /v1/operator. */
import { createRoute } from "@hono/zod-openapi";
import {
  allowAnonymous,
  requireOperator,
  requireScopeToWrite,
} from "../../middleware/authentication.ts";
import { pageOf, pageQuery } from "../../protocol/common.ts";
import { oneVersion } from "../../protocol/model.ts";
import { setVersionPrices, versionPrices } from "../../protocol/prices.ts";
import {
  listVersionPrices,
  setOperatorPrices,
  setOwnPrices,
} from "../../services/models/version-prices.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const PATH = "/models/{model_owner}/{model_name}/versions/{version_number}/prices";

const set = {
  method: "put",
  request: { params: oneVersion, body: jsonBody(setVersionPrices) },
  responses: {
    200: jsonResponse("The prices", versionPrices),
    ...errorResponses,
    ...conflictResponse,
  },
} as const;

const list = createRoute({
  method: "get",
  path: PATH,
  operationId: "listVersionPrices",
  tags: ["Model versions"],
  summary: "List a version's prices",
  description:
    "Lists past, present and future prices. Prices that the model's owner has set are listed only for the owner's account.",
  middleware: allowAnonymous,
  request: { params: oneVersion, query: pageQuery() },
  responses: {
    200: jsonResponse("The owner's, then the operators', each newest first", pageOf(versionPrices)),
    ...errorResponses,
  },
});

const setOwn = createRoute({
  ...set,
  path: PATH,
  operationId: "setVersionPrices",
  tags: ["Model versions"],
  summary: "Set a version's prices for your own account",
  description:
    "Sets what runs of your own account cost, from now or from a later time. Runs of other accounts are not affected: only operators set prices for them. Takes effect within 10 s for new predictions. Prices with a time that has prices already replace them. A version can have had 100 prices.",
  middleware: requireScopeToWrite("setVersionPrices", "write"),
});

const setForAll = createRoute({
  ...set,
  path: `/operator${PATH}`,
  operationId: "setVersionPricesForAll",
  tags: ["Operator"],
  summary: "Set a version's prices for all accounts",
  description:
    "Sets what runs of a version cost every account, in place of prices that the model's owner has set. Takes effect within 10 s for new predictions.",
  middleware: requireOperator,
});

export const versionPriceRoutes = router()
  .openapi(list, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name, version_number } = c.req.valid("param");
    const place = [model_owner, model_name, version_number] as const;
    const request = pageRequest(c, c.req.valid("query"));
    return c.json(await listVersionPrices(services, caller, place, request), 200);
  })
  .openapi(setOwn, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name, version_number } = c.req.valid("param");
    const place = [model_owner, model_name, version_number] as const;
    return c.json(await setOwnPrices(services, caller, place, c.req.valid("json")), 200);
  })
  .openapi(setForAll, async (c) => {
    const { model_owner, model_name, version_number } = c.req.valid("param");
    const place = [model_owner, model_name, version_number] as const;
    return c.json(await setOperatorPrices(c.var.services, place, c.req.valid("json")), 200);
  });
