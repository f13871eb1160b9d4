/** /v1/model_categories and /v1/hardware: what models can be sorted into and run on. */
import { createRoute } from "@hono/zod-openapi";
import { anybody } from "../../middleware/authentication.ts";
import { conditional, shareable } from "../../middleware/conditional.ts";
import { category } from "../../protocol/category.ts";
import { pageOf, pageQuery } from "../../protocol/common.ts";
import { hardware } from "../../protocol/hardware.ts";
import { listCategories } from "../../services/models/categories.ts";
import { listHardware } from "../../services/runners/hardware.ts";
import { errorAnswers, jsonAnswer, pageRequest, routes } from "../context.ts";

const tags = ["Categories and hardware"];

const categories = createRoute({
  method: "get",
  path: "/model_categories",
  operationId: "listModelCategories",
  tags,
  summary: "List the categories of models",
  middleware: [anybody, conditional],
  request: { query: pageQuery() },
  responses: { 200: jsonAnswer("By slug", pageOf(category)), ...errorAnswers },
});

const machines = createRoute({
  method: "get",
  path: "/hardware",
  operationId: "listHardware",
  tags,
  summary: "List the classes of machines",
  middleware: [anybody, conditional],
  request: { query: pageQuery() },
  responses: { 200: jsonAnswer("By identifier", pageOf(hardware)), ...errorAnswers },
});

export const catalogueRoutes = routes()
  .openapi(categories, async (c) => {
    shareable(c);
    return c.json(await listCategories(c.var.services, pageRequest(c, c.req.valid("query"))), 200);
  })
  .openapi(machines, async (c) => {
    shareable(c);
    return c.json(await listHardware(c.var.services, pageRequest(c, c.req.valid("query"))), 200);
  });
