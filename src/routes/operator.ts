/** /v1/operator: managing users, operators, tokens, hardware and categories. */

import { createRoute, z } from "@hono/zod-openapi";
import { requireOperator } from "../middleware/authentication.ts";
import { nothing, pageOf, pageQuery, slug, slugInPath, uuid } from "../protocol/common.ts";
import { hardware, putHardware } from "../protocol/hardware.ts";
import { category, putCategory } from "../protocol/model.ts";
import {
  createRunnerToken as createRunnerTokenBody,
  createToken as createTokenBody,
  createUser as createUserBody,
  newToken,
  runnerToken,
  suspensionQuery,
  token,
} from "../protocol/operator.ts";
import { createOrganizationFor, member, organization } from "../protocol/organization.ts";
import { updateToken as updateTokenBody } from "../protocol/token-limits.ts";
import { user } from "../protocol/user.ts";
import { getUser } from "../services/access/accounts.ts";
import { appointOwner } from "../services/accounts/members.ts";
import { createOrganizationFor as createFor } from "../services/accounts/organizations.ts";
import { viewTokens } from "../services/accounts/person-view.ts";
import { restoreAccount, suspendAccount } from "../services/accounts/suspension.ts";
import {
  createRunnerToken,
  createToken,
  listRunnerTokens,
  revokeToken,
  updateToken,
} from "../services/accounts/tokens.ts";
import { createUser, releaseUsername } from "../services/accounts/users.ts";
import { deleteCategory, putCategory as saveCategory } from "../services/models/categories.ts";
import { deleteHardware, putHardware as saveHardware } from "../services/runners/hardware.ts";
import { revokeRunnerToken } from "../services/runners/revocation.ts";
import { appointOperator, demoteOperator } from "../services/sign-in/operators.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "./responses.ts";
import { pageRequest, router } from "./router.ts";

const operators = { tags: ["Operator"], middleware: requireOperator };
const oneUser = z.object({ username: slugInPath });
const oneToken = z.object({ token_id: uuid });
const oneCategory = z.object({ slug });
const oneHardware = z.object({ identifier: slug });
const gone = jsonResponse("Deleted", nothing);

const users = createRoute({
  ...operators,
  method: "post",
  path: "/operator/users",
  operationId: "createUser",
  summary: "Create a user",
  request: { body: jsonBody(createUserBody) },
  responses: { 200: jsonResponse("The user", user), ...errorResponses, ...conflictResponse },
});

const releaseUsernameRoute = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/usernames/{username}",
  operationId: "releaseUsername",
  summary: "Release a username",
  description:
    "Makes a former username available again. In your own registry (`IMAGE_REGISTRY`), the next user with this name gets a separate path for images. Returns 409 while the username is in use.",
  request: { params: oneUser },
  responses: { 200: gone, ...errorResponses, ...conflictResponse },
});

const organizations = createRoute({
  ...operators,
  method: "post",
  path: "/operator/organizations",
  operationId: "createOrganizationFor",
  summary: "Create an organization for a user",
  description: "The user becomes its first owner. ORGANIZATIONS_PER_USER does not apply.",
  request: { body: jsonBody(createOrganizationFor) },
  responses: {
    200: jsonResponse("The organization", organization),
    ...errorResponses,
    ...conflictResponse,
  },
});

const owners = createRoute({
  ...operators,
  method: "put",
  path: "/operator/organizations/{organization}/owners/{username}",
  operationId: "appointOwner",
  summary: "Make a user an owner of an organization",
  description: "For an organization whose owners are gone. The user may be no member yet.",
  request: { params: z.object({ organization: slugInPath, username: slugInPath }) },
  responses: {
    200: jsonResponse("The member", member),
    ...errorResponses,
    ...conflictResponse,
  },
});

const suspension = createRoute({
  ...operators,
  method: "put",
  path: "/operator/users/{username}/suspension",
  operationId: "suspendUser",
  summary: "Suspend an account",
  description:
    "Within 10 s, the account's tokens are rejected, its sessions and streams end, and its running predictions are canceled. Models and files are kept. Operators lose their role. Returns 409 for the only owner of an organization, and for your own account.",
  request: { params: oneUser, query: suspensionQuery },
  responses: {
    200: jsonResponse("Suspended", nothing),
    ...errorResponses,
    ...conflictResponse,
  },
});

const restoreUser = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/users/{username}/suspension",
  operationId: "restoreUser",
  summary: "Restore a suspended account",
  description: "The account's tokens work again, and its user can log in.",
  request: { params: oneUser },
  responses: { 200: jsonResponse("Restored", nothing), ...errorResponses },
});

const appointment = createRoute({
  ...operators,
  method: "put",
  path: "/operator/users/{username}/operator",
  operationId: "appointOperator",
  summary: "Make a user an operator",
  description:
    "Operators manage users, the fleet and other operators. Returns 409 for an organization, and for a suspended user.",
  request: { params: oneUser },
  responses: {
    200: jsonResponse("The user is an operator", nothing),
    ...errorResponses,
    ...conflictResponse,
  },
});

const demotion = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/users/{username}/operator",
  operationId: "demoteOperator",
  summary: "Demote an operator",
  description:
    "Closes the invitations that the user made. Their tokens lose the scope `operator` within 10 s. Returns 409 for the only operator, and for a user who is not one.",
  request: { params: oneUser },
  responses: {
    200: jsonResponse("The user is no longer an operator", nothing),
    ...errorResponses,
    ...conflictResponse,
  },
});

const tokens = createRoute({
  ...operators,
  method: "post",
  path: "/operator/users/{username}/tokens",
  operationId: "createToken",
  summary: "Create an access token for a user",
  description:
    "Returns 409 if the account has 100 active tokens. For an organization it is a service token with the role `admin`. Only an operator's token can have the scope `operator`.",
  request: { params: oneUser, body: jsonBody(createTokenBody) },
  responses: {
    200: jsonResponse("The token, which is not shown again", newToken),
    ...errorResponses,
    ...conflictResponse,
  },
});

const tokenList = createRoute({
  ...operators,
  method: "get",
  path: "/operator/users/{username}/tokens",
  operationId: "listTokens",
  summary: "List a user's access tokens",
  request: { params: oneUser, query: pageQuery() },
  responses: { 200: jsonResponse("Newest first", pageOf(token)), ...errorResponses },
});

const revokeTokenRoute = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/tokens/{token_id}",
  operationId: "revokeToken",
  summary: "Revoke an access token",
  description: "The token stops working everywhere within 10 s.",
  request: { params: oneToken },
  responses: { 200: gone, ...errorResponses },
});

const updateTokenRoute = createRoute({
  ...operators,
  method: "patch",
  path: "/operator/tokens/{token_id}",
  operationId: "updateToken",
  summary: "Change the limits of an access token",
  description: "Takes effect everywhere within 10 s.",
  request: { params: oneToken, body: jsonBody(updateTokenBody) },
  responses: { 200: jsonResponse("The changed token", token), ...errorResponses },
});

const runnerTokens = createRoute({
  ...operators,
  method: "post",
  path: "/operator/runner_tokens",
  operationId: "createRunnerToken",
  summary: "Create a runner token",
  request: { body: jsonBody(createRunnerTokenBody) },
  responses: {
    200: jsonResponse("The token, which is not shown again", newToken),
    ...errorResponses,
  },
});

const runnerTokenList = createRoute({
  ...operators,
  method: "get",
  path: "/operator/runner_tokens",
  operationId: "listRunnerTokens",
  summary: "List runner tokens",
  request: { query: pageQuery() },
  responses: { 200: jsonResponse("Newest first", pageOf(runnerToken)), ...errorResponses },
});

const revokeRunnerTokenRoute = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/runner_tokens/{token_id}",
  operationId: "revokeRunnerToken",
  summary: "Revoke a runner token",
  description:
    "Takes effect within 10 s. Predictions on its runners start again elsewhere or fail. To let them finish, drain the runners first.",
  request: { params: oneToken },
  responses: { 200: gone, ...errorResponses },
});

const categoryPut = createRoute({
  ...operators,
  method: "put",
  path: "/operator/categories/{slug}",
  operationId: "putCategory",
  summary: "Create or update a category",
  request: { params: oneCategory, body: jsonBody(putCategory) },
  responses: { 200: jsonResponse("The category", category), ...errorResponses },
});

const removeCategory = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/categories/{slug}",
  operationId: "deleteCategory",
  summary: "Delete a category",
  description: "Models lose the category.",
  request: { params: oneCategory },
  responses: { 200: gone, ...errorResponses },
});

const hardwarePut = createRoute({
  ...operators,
  method: "put",
  path: "/operator/hardware/{identifier}",
  operationId: "putHardware",
  summary: "Create or update hardware",
  description:
    "Changing the `pool` of a class, or the `location_hint` of a pool, after first use returns 409.",
  request: { params: oneHardware, body: jsonBody(putHardware) },
  responses: {
    200: jsonResponse("The hardware", hardware),
    ...errorResponses,
    ...conflictResponse,
  },
});

const removeHardware = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/hardware/{identifier}",
  operationId: "deleteHardware",
  summary: "Delete hardware",
  description:
    "Returns 409 while a model or version uses it. `cpu`, the default, cannot be deleted.",
  request: { params: oneHardware },
  responses: { 200: gone, ...errorResponses, ...conflictResponse },
});

export const operatorRoutes = router()
  .openapi(users, async (c) => {
    const row = await createUser(c.var.services, c.req.valid("json"));
    return c.json(c.var.services.present.user(row), 200);
  })
  .openapi(organizations, async (c) =>
    c.json(await createFor(c.var.services, c.req.valid("json")), 200),
  )
  .openapi(owners, async (c) => {
    const { organization: name, username } = c.req.valid("param");
    return c.json(await appointOwner(c.var.services, name, username), 200);
  })
  .openapi(releaseUsernameRoute, async (c) => {
    await releaseUsername(c.var.services, c.req.valid("param").username);
    return c.json({}, 200);
  })
  .openapi(suspension, async (c) => {
    const { operator } = c.var;
    const by = operator.kind === "token" ? operator.caller.user_id : undefined;
    const options = { ...c.req.valid("query"), by };
    await suspendAccount(c.var.services, c.req.valid("param").username, options);
    return c.json({}, 200);
  })
  .openapi(appointment, async (c) => {
    await appointOperator(c.var.services, c.req.valid("param").username);
    return c.json({}, 200);
  })
  .openapi(demotion, async (c) => {
    await demoteOperator(c.var.services, c.req.valid("param").username);
    return c.json({}, 200);
  })
  .openapi(restoreUser, async (c) => {
    await restoreAccount(c.var.services, c.req.valid("param").username);
    return c.json({}, 200);
  })
  .openapi(tokens, async (c) => {
    const { id, kind } = await getUser(c.var.services, c.req.valid("param").username);
    const actor = kind === "organization" ? ({ service_role: "admin" } as const) : {};
    return c.json(await createToken(c.var.services, id, c.req.valid("json"), actor), 200);
  })
  .openapi(tokenList, async (c) => {
    const { username } = c.req.valid("param");
    const request = pageRequest(c, c.req.valid("query"));
    return c.json(await viewTokens(c.var.services, username, request), 200);
  })
  .openapi(revokeTokenRoute, async (c) => {
    await revokeToken(c.var.services, c.req.valid("param").token_id);
    return c.json({}, 200);
  })
  .openapi(updateTokenRoute, async (c) => {
    const { limits } = c.req.valid("json");
    return c.json(await updateToken(c.var.services, c.req.valid("param").token_id, limits), 200);
  })
  .openapi(runnerTokens, async (c) =>
    c.json(await createRunnerToken(c.var.services, c.req.valid("json")), 200),
  )
  .openapi(runnerTokenList, async (c) =>
    c.json(await listRunnerTokens(c.var.services, pageRequest(c, c.req.valid("query"))), 200),
  )
  .openapi(revokeRunnerTokenRoute, async (c) => {
    await revokeRunnerToken(c.var.services, c.req.valid("param").token_id, null);
    return c.json({}, 200);
  })
  .openapi(categoryPut, async (c) => {
    const { slug } = c.req.valid("param");
    return c.json(await saveCategory(c.var.services, slug, c.req.valid("json")), 200);
  })
  .openapi(removeCategory, async (c) => {
    await deleteCategory(c.var.services, c.req.valid("param").slug);
    return c.json({}, 200);
  })
  .openapi(hardwarePut, async (c) => {
    const { identifier } = c.req.valid("param");
    return c.json(await saveHardware(c.var.services, identifier, c.req.valid("json")), 200);
  })
  .openapi(removeHardware, async (c) => {
    await deleteHardware(c.var.services, c.req.valid("param").identifier);
    return c.json({}, 200);
  });
