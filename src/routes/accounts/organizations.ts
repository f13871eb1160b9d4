/** /v1/organizations: organizations with their members, invitations and tokens. */
import { createRoute, z } from "@hono/zod-openapi";
import { requireScope, requireScopeToWrite } from "../../middleware/authentication.ts";
import { nothing, pageOf, pageQuery, slugInPath, uuid } from "../../protocol/common.ts";
import { newToken, token } from "../../protocol/operator.ts";
import {
  createOrganization,
  createOrganizationInvitation,
  createOrganizationToken,
  joinOrganization,
  member,
  newOrganizationInvitation,
  organization,
  organizationInvitation,
  organizationToken,
  setMember,
  updateOrganization,
} from "../../protocol/organization.ts";
import { updateToken } from "../../protocol/token-limits.ts";
import * as members from "../../services/accounts/members.ts";
import * as tokens from "../../services/accounts/organization-tokens.ts";
import * as organizations from "../../services/accounts/organizations.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const tags = ["Organizations"];
const reading = { tags, middleware: requireScope("read") };
const writing = { tags, middleware: requireScopeToWrite("changeOrganization", "write") };

const one = z.object({ organization: slugInPath.meta({ example: "acme" }) });
const oneMember = one.extend({ username: slugInPath.meta({ example: "ada" }) });
const oneInvitation = one.extend({ invitation_id: uuid });
const oneToken = one.extend({ token_id: uuid });

const ORGANIZATION = "/organizations/{organization}";
const MEMBER = `${ORGANIZATION}/members/{username}` as const;

const create = createRoute({
  ...writing,
  method: "post",
  path: "/organizations",
  operationId: "createOrganization",
  summary: "Create an organization",
  description:
    "You become its first owner. Its username is a namespace like that of a user. Requires a token of your own account, with all scopes, any priority, no expiry and no limits.",
  request: { body: jsonBody(createOrganization) },
  responses: {
    200: jsonResponse("The organization", organization),
    ...errorResponses,
    ...conflictResponse,
  },
});

const list = createRoute({
  ...reading,
  method: "get",
  path: "/organizations",
  operationId: "listOrganizations",
  summary: "List your organizations",
  description: "With your role in each. A token of an organization lists that organization.",
  responses: { 200: jsonResponse("Your organizations", z.array(organization)), ...errorResponses },
});

const get = createRoute({
  ...reading,
  method: "get",
  path: ORGANIZATION,
  operationId: "getOrganization",
  summary: "Get an organization",
  request: { params: one },
  responses: { 200: jsonResponse("The organization", organization), ...errorResponses },
});

const update = createRoute({
  ...writing,
  method: "patch",
  path: ORGANIZATION,
  operationId: "updateOrganization",
  summary: "Update an organization",
  description:
    "Updates only the fields that you send; null clears a field. Requires the role admin, and owner for the username.",
  request: { params: one, body: jsonBody(updateOrganization) },
  responses: {
    200: jsonResponse("The updated organization", organization),
    ...errorResponses,
    ...conflictResponse,
  },
});

const remove = createRoute({
  ...writing,
  method: "delete",
  path: ORGANIZATION,
  operationId: "deleteOrganization",
  summary: "Delete an organization",
  description:
    "Deletes its models, images, files and predictions for good, and ends its tokens. Requires the role owner.",
  request: { params: one },
  responses: { 200: jsonResponse("Deleted", nothing), ...errorResponses },
});

const memberList = createRoute({
  ...reading,
  method: "get",
  path: `${ORGANIZATION}/members`,
  operationId: "listMembers",
  summary: "List members",
  request: { params: one, query: pageQuery() },
  responses: { 200: jsonResponse("Members", pageOf(member)), ...errorResponses },
});

const memberUpdate = createRoute({
  ...writing,
  method: "put",
  path: MEMBER,
  operationId: "setMember",
  summary: "Change a member's role",
  description:
    "Requires the role admin, and owner to make or unmake owners. It takes effect everywhere within 10 s. New people join with an invitation. Requires a token with all scopes, any priority, no expiry and no limits.",
  request: { params: oneMember, body: jsonBody(setMember) },
  responses: {
    200: jsonResponse("The member", member),
    ...errorResponses,
    ...conflictResponse,
  },
});

const memberRemoval = createRoute({
  ...writing,
  method: "delete",
  path: MEMBER,
  operationId: "removeMember",
  summary: "Remove a member",
  description:
    "Ends their tokens for the organization within 10 s. Service tokens that they made stay. Requires the role admin, and owner to remove an owner; everybody can remove themselves.",
  request: { params: oneMember },
  responses: { 200: jsonResponse("Removed", nothing), ...errorResponses, ...conflictResponse },
});

const invitation = createRoute({
  ...writing,
  method: "post",
  path: `${ORGANIZATION}/invitations`,
  operationId: "createOrganizationInvitation",
  summary: "Invite a person",
  description:
    "Returns a link with which one person can join within 7 days. It works as long as you may invite. Requires the role admin, and a token with all scopes, any priority, no expiry and no limits.",
  request: { params: one, body: jsonBody(createOrganizationInvitation) },
  responses: {
    200: jsonResponse("The link, which is not shown again", newOrganizationInvitation),
    ...errorResponses,
    ...conflictResponse,
  },
});

const invitationList = createRoute({
  ...reading,
  method: "get",
  path: `${ORGANIZATION}/invitations`,
  operationId: "listOrganizationInvitations",
  summary: "List open invitations",
  description: "Requires the role admin.",
  request: { params: one },
  responses: {
    200: jsonResponse("Oldest first", z.array(organizationInvitation)),
    ...errorResponses,
  },
});

const invitationRemoval = createRoute({
  ...writing,
  method: "delete",
  path: `${ORGANIZATION}/invitations/{invitation_id}`,
  operationId: "deleteOrganizationInvitation",
  summary: "Revoke an invitation",
  request: { params: oneInvitation },
  responses: { 200: jsonResponse("Revoked", nothing), ...errorResponses },
});

const joining = createRoute({
  ...writing,
  method: "post",
  path: "/user/organizations",
  operationId: "joinOrganization",
  summary: "Join an organization",
  description:
    "Accepts an invitation. Requires a token of your own account, with all scopes, any priority, no expiry and no limits.",
  request: { body: jsonBody(joinOrganization) },
  responses: {
    200: jsonResponse("The organization, with your role", organization),
    ...errorResponses,
    ...conflictResponse,
  },
});

const tokenCreation = createRoute({
  ...writing,
  method: "post",
  path: `${ORGANIZATION}/tokens`,
  operationId: "createOrganizationToken",
  summary: "Create a token for an organization",
  description:
    "The token acts as the organization: it runs models at its expense. Your own token acts with the role that you have at the time, and ends with your membership. It can have no scope, priority or lifetime that the token you send lacks.",
  request: { params: one, body: jsonBody(createOrganizationToken) },
  responses: {
    200: jsonResponse("The token, which is not shown again", newToken),
    ...errorResponses,
    ...conflictResponse,
  },
});

const tokenList = createRoute({
  ...reading,
  method: "get",
  path: `${ORGANIZATION}/tokens`,
  operationId: "listOrganizationTokens",
  summary: "List tokens of an organization",
  description: "Your own tokens for it; for admins, all.",
  request: { params: one, query: pageQuery() },
  responses: { 200: jsonResponse("Newest first", pageOf(organizationToken)), ...errorResponses },
});

const tokenRemoval = createRoute({
  ...writing,
  method: "delete",
  path: `${ORGANIZATION}/tokens/{token_id}`,
  operationId: "revokeOrganizationToken",
  summary: "Revoke a token of an organization",
  description: "Requires the role admin for tokens that are not your own.",
  request: { params: oneToken },
  responses: { 200: jsonResponse("Revoked", nothing), ...errorResponses },
});

const tokenUpdate = createRoute({
  ...writing,
  method: "patch",
  path: `${ORGANIZATION}/tokens/{token_id}`,
  operationId: "updateOrganizationToken",
  summary: "Change the limits of an organization's token",
  description:
    "Takes effect within 10 s. Requires the role admin for tokens that are not your own, and a token without limits.",
  request: { params: oneToken, body: jsonBody(updateToken) },
  responses: { 200: jsonResponse("The changed token", token), ...errorResponses },
});

export const organizationRoutes = router()
  .openapi(create, async (c) => {
    const { services, caller } = c.var;
    const made = await organizations.createOrganization(services, caller, c.req.valid("json"));
    return c.json(made, 200);
  })
  .openapi(list, async (c) =>
    c.json(await organizations.listOrganizations(c.var.services, c.var.caller), 200),
  )
  .openapi(get, async (c) => {
    const { organization: name } = c.req.valid("param");
    const found = await organizations.readOrganization(c.var.services, c.var.caller, name);
    return c.json(found, 200);
  })
  .openapi(update, async (c) => {
    const { services, caller } = c.var;
    const { organization: name } = c.req.valid("param");
    const changes = c.req.valid("json");
    return c.json(await organizations.updateOrganization(services, caller, name, changes), 200);
  })
  .openapi(remove, async (c) => {
    const { organization: name } = c.req.valid("param");
    await organizations.deleteOrganization(c.var.services, c.var.caller, name);
    return c.json({}, 200);
  })
  .openapi(memberList, async (c) => {
    const { services, caller } = c.var;
    const request = pageRequest(c, c.req.valid("query"));
    const { organization: name } = c.req.valid("param");
    return c.json(await members.listMembers(services, caller, name, request), 200);
  })
  .openapi(memberUpdate, async (c) => {
    const { services, caller } = c.var;
    const { organization: name, username } = c.req.valid("param");
    const { role } = c.req.valid("json");
    return c.json(await members.setMember(services, caller, name, username, role), 200);
  })
  .openapi(memberRemoval, async (c) => {
    const { organization: name, username } = c.req.valid("param");
    await members.removeMember(c.var.services, c.var.caller, name, username);
    return c.json({}, 200);
  })
  .openapi(invitation, async (c) => {
    const { services, caller } = c.var;
    const { organization: name } = c.req.valid("param");
    const { origin } = new URL(c.req.url);
    const made = await members.invite(services, caller, name, c.req.valid("json"), origin);
    return c.json(made, 200);
  })
  .openapi(invitationList, async (c) => {
    const { organization: name } = c.req.valid("param");
    return c.json(await members.listInvitations(c.var.services, c.var.caller, name), 200);
  })
  .openapi(invitationRemoval, async (c) => {
    const { organization: name, invitation_id } = c.req.valid("param");
    await members.revokeInvitation(c.var.services, c.var.caller, name, invitation_id);
    return c.json({}, 200);
  })
  .openapi(joining, async (c) => {
    const { invitation: secret } = c.req.valid("json");
    return c.json(await members.join(c.var.services, c.var.caller, secret), 200);
  })
  .openapi(tokenCreation, async (c) => {
    const { services, caller } = c.var;
    const { organization: name } = c.req.valid("param");
    const body = c.req.valid("json");
    return c.json(await tokens.createOrganizationToken(services, caller, name, body), 200);
  })
  .openapi(tokenList, async (c) => {
    const { services, caller } = c.var;
    const { organization: name } = c.req.valid("param");
    const request = pageRequest(c, c.req.valid("query"));
    return c.json(await tokens.listOrganizationTokens(services, caller, name, request), 200);
  })
  .openapi(tokenUpdate, async (c) => {
    const { services, caller } = c.var;
    const { organization: name, token_id } = c.req.valid("param");
    const { limits } = c.req.valid("json");
    return c.json(
      await tokens.updateOrganizationToken(services, caller, name, token_id, limits),
      200,
    );
  })
  .openapi(tokenRemoval, async (c) => {
    const { organization: name, token_id } = c.req.valid("param");
    await tokens.revokeOrganizationToken(c.var.services, c.var.caller, name, token_id);
    return c.json({}, 200);
  });
