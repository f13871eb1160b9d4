/** /v1/operator: what a deployment needs before its first prediction, and what it offers. */
import { createRoute, z } from "@hono/zod-openapi";
import { requireOperator } from "../middleware/authentication.ts";
import { category, putCategory } from "../protocol/category.ts";
import { nothing, pageOf, pageQuery, slug, uuid } from "../protocol/common.ts";
import { hardware, putHardware } from "../protocol/hardware.ts";
import {
  createRunnerToken as createRunnerTokenBody,
  createToken as createTokenBody,
  createUser as createUserBody,
  newToken,
  runnerToken,
  token,
} from "../protocol/operator.ts";
import { user } from "../protocol/user.ts";
import { restoreAccount, suspendAccount } from "../services/accounts/suspension.ts";
import {
  createRunnerToken,
  createToken,
  listRunnerTokens,
  listTokens,
  revokeRunnerToken,
  revokeToken,
} from "../services/accounts/tokens.ts";
import { createUser, getUser, releaseUsername } from "../services/accounts/users.ts";
import { deleteCategory, putCategory as saveCategory } from "../services/models/categories.ts";
import { deleteHardware, putHardware as saveHardware } from "../services/runners/hardware.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "./responses.ts";
import { pageRequest, router } from "./router.ts";

const operators = { tags: ["Operator"], middleware: requireOperator };
const oneUser = z.object({ username: slug });
const oneToken = z.object({ token_id: uuid });
const oneCategory = z.object({ slug });
const oneHardware = z.object({ identifier: slug });
const gone = jsonResponse("It is gone", nothing);

const users = createRoute({
  ...operators,
  method: "post",
  path: "/operator/users",
  operationId: "createUser",
  summary: "Create a user",
  request: { body: jsonBody(createUserBody) },
  responses: { 200: jsonResponse("The user", user), ...errorResponses, ...conflictResponse },
});

const usernameEnd = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/usernames/{username}",
  operationId: "releaseUsername",
  summary: "Release a username that was given up",
  description:
    "Anybody may take it then, and name the images below it in the registry: those of its former holder too. Refused with 409 while it is in use.",
  request: { params: oneUser },
  responses: { 200: gone, ...errorResponses, ...conflictResponse },
});

const suspension = createRoute({
  ...operators,
  method: "put",
  path: "/operator/users/{username}/suspension",
  operationId: "suspendUser",
  summary: "Suspend an account",
  description:
    "Within 10 s its tokens are refused, its sessions and streams end, and what it runs is canceled. Its models and files stay as they are. If it was an operator, it is none any more.",
  request: { params: oneUser },
  responses: { 200: jsonResponse("It is suspended", nothing), ...errorResponses },
});

const suspensionEnd = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/users/{username}/suspension",
  operationId: "restoreUser",
  summary: "End the suspension of an account",
  description: "Its tokens work again, and its user can sign in.",
  request: { params: oneUser },
  responses: { 200: jsonResponse("It is suspended no longer", nothing), ...errorResponses },
});

const tokens = createRoute({
  ...operators,
  method: "post",
  path: "/operator/users/{username}/tokens",
  operationId: "createToken",
  summary: "Create an access token for a user",
  description: "Refused with 409 when it has 100 that are neither revoked nor expired.",
  request: { params: oneUser, body: jsonBody(createTokenBody) },
  responses: {
    200: jsonResponse("The token: it is never shown again", newToken),
    ...errorResponses,
    ...conflictResponse,
  },
});

const tokenList = createRoute({
  ...operators,
  method: "get",
  path: "/operator/users/{username}/tokens",
  operationId: "listTokens",
  summary: "List the access tokens of a user",
  request: { params: oneUser, query: pageQuery() },
  responses: { 200: jsonResponse("Newest first", pageOf(token)), ...errorResponses },
});

const tokenEnd = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/tokens/{token_id}",
  operationId: "revokeToken",
  summary: "Revoke an access token",
  description: "It is refused everywhere within 10 s.",
  request: { params: oneToken },
  responses: { 200: gone, ...errorResponses },
});

const runnerTokens = createRoute({
  ...operators,
  method: "post",
  path: "/operator/runner_tokens",
  operationId: "createRunnerToken",
  summary: "Create a token for runners",
  request: { body: jsonBody(createRunnerTokenBody) },
  responses: {
    200: jsonResponse("The token: it is never shown again", newToken),
    ...errorResponses,
  },
});

const runnerTokenList = createRoute({
  ...operators,
  method: "get",
  path: "/operator/runner_tokens",
  operationId: "listRunnerTokens",
  summary: "List the tokens of runners",
  request: { query: pageQuery() },
  responses: { 200: jsonResponse("Newest first", pageOf(runnerToken)), ...errorResponses },
});

const runnerTokenEnd = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/runner_tokens/{token_id}",
  operationId: "revokeRunnerToken",
  summary: "Revoke a token of runners",
  description:
    "Within 10 s its runners get no more work, and what runs there begins anew elsewhere or fails, as if they were lost. To let it end first, drain them.",
  request: { params: oneToken },
  responses: { 200: gone, ...errorResponses },
});

const categoryPut = createRoute({
  ...operators,
  method: "put",
  path: "/operator/categories/{slug}",
  operationId: "putCategory",
  summary: "Create or change a category",
  request: { params: oneCategory, body: jsonBody(putCategory) },
  responses: { 200: jsonResponse("The category", category), ...errorResponses },
});

const categoryEnd = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/categories/{slug}",
  operationId: "deleteCategory",
  summary: "Delete a category",
  description: "Models that are in it are in it no longer.",
  request: { params: oneCategory },
  responses: { 200: gone, ...errorResponses },
});

const hardwarePut = createRoute({
  ...operators,
  method: "put",
  path: "/operator/hardware/{identifier}",
  operationId: "putHardware",
  summary: "Create or change a class of machines",
  request: { params: oneHardware, body: jsonBody(putHardware) },
  responses: { 200: jsonResponse("The hardware", hardware), ...errorResponses },
});

const hardwareEnd = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/hardware/{identifier}",
  operationId: "deleteHardware",
  summary: "Delete a class of machines",
  description:
    "Refused with 409 while a model or a version names it, and always for `cpu`: models that name none run on it.",
  request: { params: oneHardware },
  responses: { 200: gone, ...errorResponses, ...conflictResponse },
});

export const operatorRoutes = router()
  .openapi(users, async (c) => {
    const row = await createUser(c.var.services, c.req.valid("json"));
    return c.json(c.var.services.present.user(row), 200);
  })
  .openapi(usernameEnd, async (c) => {
    await releaseUsername(c.var.services, c.req.valid("param").username);
    return c.json({}, 200);
  })
  .openapi(suspension, async (c) => {
    await suspendAccount(c.var.services, c.req.valid("param").username);
    return c.json({}, 200);
  })
  .openapi(suspensionEnd, async (c) => {
    await restoreAccount(c.var.services, c.req.valid("param").username);
    return c.json({}, 200);
  })
  .openapi(tokens, async (c) => {
    const { id } = await getUser(c.var.services, c.req.valid("param").username);
    return c.json(await createToken(c.var.services, id, c.req.valid("json")), 200);
  })
  .openapi(tokenList, async (c) => {
    const { id } = await getUser(c.var.services, c.req.valid("param").username);
    return c.json(await listTokens(c.var.services, id, pageRequest(c, c.req.valid("query"))), 200);
  })
  .openapi(tokenEnd, async (c) => {
    await revokeToken(c.var.services, c.req.valid("param").token_id);
    return c.json({}, 200);
  })
  .openapi(runnerTokens, async (c) =>
    c.json(await createRunnerToken(c.var.services, c.req.valid("json")), 200),
  )
  .openapi(runnerTokenList, async (c) =>
    c.json(await listRunnerTokens(c.var.services, pageRequest(c, c.req.valid("query"))), 200),
  )
  .openapi(runnerTokenEnd, async (c) => {
    await revokeRunnerToken(c.var.services, c.req.valid("param").token_id);
    return c.json({}, 200);
  })
  .openapi(categoryPut, async (c) => {
    const { slug } = c.req.valid("param");
    return c.json(await saveCategory(c.var.services, slug, c.req.valid("json")), 200);
  })
  .openapi(categoryEnd, async (c) => {
    await deleteCategory(c.var.services, c.req.valid("param").slug);
    return c.json({}, 200);
  })
  .openapi(hardwarePut, async (c) => {
    const { identifier } = c.req.valid("param");
    return c.json(await saveHardware(c.var.services, identifier, c.req.valid("json")), 200);
  })
  .openapi(hardwareEnd, async (c) => {
    await deleteHardware(c.var.services, c.req.valid("param").identifier);
    return c.json({}, 200);
  });
