/** /v1/model_categories and /v1/hardware. */
import { createRoute } from "@hono/zod-openapi";
import { allowAnonymous } from "../../middleware/authentication.ts";
import { conditionalGet, markPublic } from "../../middleware/conditional.ts";
import { pageOf, pageQuery } from "../../protocol/common.ts";
import { hardware } from "../../protocol/hardware.ts";
import { category } from "../../protocol/model.ts";
import { listCategories } from "../../services/models/categories.ts";
import { databaseFor } from "../../services/models/public-reads.ts";
import { listHardware } from "../../services/runners/hardware.ts";
import { errorResponses, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const tags = ["Categories and hardware"];

const categories = createRoute({
  method: "get",
  path: "/model_categories",
  operationId: "listModelCategories",
  tags,
  summary: "List model categories",
  middleware: [allowAnonymous, conditionalGet],
  request: { query: pageQuery() },
  responses: { 200: jsonResponse("Sorted by slug", pageOf(category)), ...errorResponses },
});

const machines = createRoute({
  method: "get",
  path: "/hardware",
  operationId: "listHardware",
  tags,
  summary: "List hardware",
  middleware: [allowAnonymous, conditionalGet],
  request: { query: pageQuery() },
  responses: { 200: jsonResponse("Sorted by identifier", pageOf(hardware)), ...errorResponses },
});

export const catalogueRoutes = router()
  .openapi(categories, async (c) => {
    markPublic(c);
    const { services, caller } = c.var;
    const request = pageRequest(c, c.req.valid("query"));
    return c.json(await listCategories(services, request, databaseFor(services, caller)), 200);
  })
  .openapi(machines, async (c) => {
    markPublic(c);
    const { services, caller } = c.var;
    const request = pageRequest(c, c.req.valid("query"));
    return c.json(await listHardware(services, request, databaseFor(services, caller)), 200);
  });
