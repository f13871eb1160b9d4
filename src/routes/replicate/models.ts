/** Models and collections of Replicate's API, below /replicate/v1. */
import { type Context, Hono } from "hono";
import { z } from "zod";
import type { AppEnv } from "../../context.ts";
import { REPLICATE_PATH } from "../../domain/replicate/prediction.ts";
import { allowAnonymous, requireScopeToWrite } from "../../middleware/authentication.ts";
import { cursorText } from "../../protocol/common.ts";
import { createReplicateModel, updateReplicateModel } from "../../protocol/replicate.ts";
import { deleteModel, readModel } from "../../services/models/models.ts";
import {
  createReplicateModel as create,
  deleteReplicateVersion,
  listReplicateCollections,
  listReplicateExamples,
  listReplicateModels,
  listReplicateVersions,
  readReplicateCollection,
  readReplicateModel,
  readReplicateVersion,
  searchReplicateModels,
  updateReplicateModel as update,
} from "../../services/replicate/models.ts";
import { parse, parseBody } from "../router.ts";

const PAGE_SIZE = 25;

const listQuery = z.object({
  cursor: cursorText(1_000),
  query: z.string().optional(),
  sort_direction: z.enum(["asc", "desc"]).default("desc"),
});

const originOf = ({ req }: Context) => new URL(req.url).origin;
const placeOf = ({ req }: Context): [string, string] => [
  req.param("owner") ?? "",
  req.param("name") ?? "",
];
const pageRequest = (c: Context, cursor: string | undefined) => ({
  cursor,
  size: PAGE_SIZE,
  url: c.req.url,
});
const ownPage = (c: Context) => pageRequest(c, parse(listQuery, c.req.query(), "query").cursor);

export const replicateModelRoutes = new Hono<AppEnv>()
  .get("/models", allowAnonymous, async (c) => {
    const { services, caller } = c.var;
    const { cursor, query, sort_direction } = parse(listQuery, c.req.query(), "query");
    const request = pageRequest(c, cursor);
    return c.json(
      query === undefined
        ? await listReplicateModels(services, caller, sort_direction, request)
        : await searchReplicateModels(services, caller, query, request),
    );
  })
  .on("QUERY", "/models", allowAnonymous, async (c) => {
    const { services, caller } = c.var;
    const query = unquoted(await c.req.text());
    const request = pageRequest(c, undefined);
    request.url = `${originOf(c)}${REPLICATE_PATH}/models?query=${encodeURIComponent(query)}`;
    return c.json(await searchReplicateModels(services, caller, query, request));
  })
  .get("/search", allowAnonymous, async (c) => {
    const { services, caller } = c.var;
    const { query = "" } = parse(listQuery, c.req.query(), "query");
    const request = pageRequest(c, undefined);
    const { results } = await searchReplicateModels(services, caller, query, request);
    const models = results.map((model) => ({ model, metadata: {} }));
    return c.json({ query, models, collections: [], pages: [] });
  })
  .post("/models", requireScopeToWrite("createModel", "write"), async (c) => {
    const { services, caller } = c.var;
    const request = await parseBody(c, createReplicateModel);
    return c.json(await create(services, caller, request, originOf(c)), 201);
  })
  .get("/models/:owner/:name", allowAnonymous, async (c) =>
    c.json(await readReplicateModel(c.var.services, c.var.caller, placeOf(c), originOf(c))),
  )
  .patch("/models/:owner/:name", requireScopeToWrite("updateModel", "write"), async (c) => {
    const { services, caller } = c.var;
    const request = await parseBody(c, updateReplicateModel);
    return c.json(await update(services, caller, placeOf(c), request, originOf(c)));
  })
  .delete("/models/:owner/:name", requireScopeToWrite("deleteModel", "write"), async (c) => {
    await deleteModel(c.var.services, c.var.caller, ...placeOf(c));
    return c.body(null, 204);
  })
  .get("/models/:owner/:name/readme", allowAnonymous, async (c) => {
    const { overview } = await readModel(c.var.services, c.var.caller, ...placeOf(c));
    return c.body(overview, 200, { "content-type": "text/markdown; charset=utf-8" });
  })
  .get("/models/:owner/:name/examples", allowAnonymous, async (c) =>
    c.json(await listReplicateExamples(c.var.services, c.var.caller, placeOf(c), originOf(c))),
  )
  .get("/models/:owner/:name/versions", allowAnonymous, async (c) =>
    c.json(await listReplicateVersions(c.var.services, c.var.caller, placeOf(c), ownPage(c))),
  )
  .get("/models/:owner/:name/versions/:version", allowAnonymous, async (c) => {
    const { services, caller } = c.var;
    return c.json(await readReplicateVersion(services, caller, placeOf(c), c.req.param("version")));
  })
  .delete(
    "/models/:owner/:name/versions/:version",
    requireScopeToWrite("deleteVersion", "write"),
    async (c) => {
      const { services, caller } = c.var;
      await deleteReplicateVersion(services, caller, placeOf(c), c.req.param("version"));
      return c.body(null, 204);
    },
  )
  .get("/collections", allowAnonymous, async (c) =>
    c.json(await listReplicateCollections(c.var.services, c.var.caller, ownPage(c))),
  )
  .get("/collections/:slug", allowAnonymous, async (c) => {
    const { services, caller } = c.var;
    const slug = c.req.param("slug");
    return c.json(await readReplicateCollection(services, caller, slug, c.req.url));
  });

/** The npm client sends its text as JSON, and Python's as it is. */
const unquoted = (text: string): string => /^"(.*)"$/s.exec(text)?.[1] ?? text;
