/** /v1/user and /v1/users: the caller's own profile, and public profiles. */
import { createRoute, z } from "@hono/zod-openapi";
import { notFound } from "../../errors/errors.ts";
import {
  allowAnonymous,
  requireScope,
  requireScopeToWrite,
} from "../../middleware/authentication.ts";
import { conditionalGet, markPublic } from "../../middleware/conditional.ts";
import {
  pageOf,
  pageQuery,
  searchQuery,
  slugInPath,
  sortDirection,
  uuid,
} from "../../protocol/common.ts";
import { modelItem } from "../../protocol/model.ts";
import { ownModelsQuery, ownUser } from "../../protocol/organization.ts";
import { updateUser, user, userUsage } from "../../protocol/user.ts";
import { getUser } from "../../services/access/accounts.ts";
import { readAvatar } from "../../services/accounts/avatars.ts";
import { getOwnMonth } from "../../services/accounts/usage.ts";
import { getOwnUser, listUsers, updateOwnUser } from "../../services/accounts/users.ts";
import { listOwnModels, listSharedModels } from "../../services/models/models.ts";
import { searchUsers } from "../../services/models/search.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

/** An avatar is public and cached without end, since a new one has a new URL. */
const CACHE = "public, max-age=31536000, immutable";

const onePicture = z.object({ user_id: uuid, hash: z.string().regex(/^[0-9a-f]{64}$/) });

export const avatarRoutes = router().get(
  "/avatars/:user_id/:hash",
  async ({ req, var: { services } }) => {
    const { success, data } = onePicture.safeParse(req.param());
    if (!success) throw notFound("The picture");
    const picture = await readAvatar(services, data.user_id, data.hash);
    return new Response(picture.body, {
      headers: {
        "content-type": picture.httpMetadata?.contentType ?? "application/octet-stream",
        "content-length": String(picture.size),
        "content-disposition": "inline",
        "cache-control": CACHE,
        // User content must not run scripts on this origin.
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; sandbox",
        "cross-origin-resource-policy": "cross-origin",
        "referrer-policy": "no-referrer",
      },
    });
  },
);

const tags = ["Users"];

const getOwn = createRoute({
  method: "get",
  path: "/user",
  operationId: "getOwnUser",
  tags,
  summary: "Get your profile",
  middleware: [requireScope("read"), conditionalGet],
  responses: { 200: jsonResponse("The account of the token", ownUser), ...errorResponses },
});

const update = createRoute({
  method: "patch",
  path: "/user",
  operationId: "updateOwnUser",
  tags,
  summary: "Update your profile",
  description:
    "Updates only the fields you send; null clears a field. A new username takes effect immediately: URLs with the old one return 404. The old one stays reserved for you.",
  middleware: requireScopeToWrite("updateOwnUser", "write"),
  request: { body: jsonBody(updateUser) },
  responses: {
    200: jsonResponse("The updated account", ownUser),
    ...errorResponses,
    ...conflictResponse,
  },
});

const ownModels = createRoute({
  method: "get",
  path: "/user/models",
  operationId: "listOwnModels",
  tags,
  summary: "List your models",
  description:
    "Includes private models. Newest first. With `shared=true`: the models that others share with you.",
  middleware: requireScope("read"),
  request: { query: ownModelsQuery },
  responses: { 200: jsonResponse("Newest first", pageOf(modelItem)), ...errorResponses },
});

const ownUsage = createRoute({
  method: "get",
  path: "/user/usage",
  operationId: "getOwnUsage",
  tags,
  summary: "Get your usage",
  description:
    "Returns this month's predictions (UTC) by model, and your storage with its limits. Predictions are counted when they finish, and do not count toward storage.",
  middleware: requireScope("read"),
  responses: { 200: jsonResponse("This month and storage", userUsage), ...errorResponses },
});

const get = createRoute({
  method: "get",
  path: "/users/{username}",
  operationId: "getUser",
  tags,
  summary: "Get a user",
  middleware: [allowAnonymous, conditionalGet],
  request: { params: z.object({ username: slugInPath.meta({ example: "demo" }) }) },
  responses: { 200: jsonResponse("The user", user), ...errorResponses },
});

const list = createRoute({
  method: "get",
  path: "/users",
  operationId: "listUsers",
  tags,
  summary: "List users",
  description: "Oldest first.",
  middleware: [allowAnonymous, conditionalGet],
  request: {
    query: pageQuery(100).extend({
      sort_by: z.enum(["created_at"]).default("created_at"),
      sort_direction: sortDirection,
    }),
  },
  responses: { 200: jsonResponse("Users", pageOf(user)), ...errorResponses },
});

const search = createRoute({
  method: "get",
  path: "/search/users",
  operationId: "searchUsers",
  tags,
  summary: "Search users",
  description:
    "Searches usernames, names and companies, and tolerates small typos. Best matches first.",
  middleware: [allowAnonymous, conditionalGet],
  request: { query: searchQuery },
  responses: { 200: jsonResponse("Best matches first", pageOf(user)), ...errorResponses },
});

export const userRoutes = router()
  .openapi(getOwn, async (c) => c.json(await getOwnUser(c.var.services, c.var.caller), 200))
  .openapi(update, async (c) =>
    c.json(await updateOwnUser(c.var.services, c.var.caller, c.req.valid("json")), 200),
  )
  .openapi(ownUsage, async (c) => c.json(await getOwnMonth(c.var.services, c.var.caller), 200))
  .openapi(ownModels, async (c) => {
    const { services, caller } = c.var;
    const query = c.req.valid("query");
    const list = query.shared === "true" ? listSharedModels : listOwnModels;
    return c.json(await list(services, caller, pageRequest(c, query)), 200);
  })
  .openapi(get, async (c) => {
    const { services } = c.var;
    markPublic(c);
    const row = await getUser(services, c.req.valid("param").username);
    return c.json(services.present.user(row), 200);
  })
  .openapi(list, async (c) => {
    const query = c.req.valid("query");
    const request = pageRequest(c, query);
    markPublic(c);
    return c.json(await listUsers(c.var.services, query.sort_direction, request), 200);
  })
  .openapi(search, async (c) => {
    const query = c.req.valid("query");
    markPublic(c);
    return c.json(await searchUsers(c.var.services, query.q, pageRequest(c, query)), 200);
  });
