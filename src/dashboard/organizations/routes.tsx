/** `/organizations` and `/join/{invitation}`: organizations with their members, invitations and tokens. */

import { hasRole } from "../../domain/accounts/access.ts";
import {
  createOrganization as createOrganizationBody,
  createOrganizationInvitation,
  createOrganizationToken as createTokenBody,
  setMember as setMemberBody,
} from "../../protocol/organization.ts";
import { parse } from "../../routes/router.ts";
import {
  invite,
  join,
  listInvitations,
  listMembers,
  readInvitation,
  removeMember,
  revokeInvitation,
  setMember,
} from "../../services/accounts/members.ts";
import {
  createOrganization,
  deleteOrganization,
  listOrganizations,
  readOrganization,
} from "../../services/accounts/organizations.ts";
import {
  createOrganizationToken,
  listOrganizationTokens,
  revokeOrganizationToken,
} from "../../services/accounts/tokens.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, fieldText, handleForm, pickFields, readForm } from "../form.ts";
import { readTokenForm } from "../tokens/new-token.tsx";
import { JoinPage, OrganizationPage, OrganizationsPage, type Outcome } from "./pages.tsx";

const LIST = "/organizations";
const ONE = `${LIST}/:organization` as const;
const PAGE_SIZE = 50;

export const organizationPages = pages()
  .get(LIST, requireUser, (c) => showAll(c, emptyDraft))
  .post(LIST, requireUser, async (c) => {
    const { done, draft } = await handleForm(c, async (form) => {
      const request = parse(createOrganizationBody, pickFields(form, "username", "name"), "body");
      return createOrganization(c.var.services, viewerOf(c).caller, request);
    });
    if (draft) return showAll(c, draft);
    return redirectWithFlash(c, "Organization created.", `${LIST}/${done.username}`);
  })
  .get(ONE, requireUser, (c) => show(c, c.req.param("organization")))
  .post(`${ONE}/members/:username`, requireUser, async (c) => {
    const { organization, username } = c.req.param();
    const { role } = parse(setMemberBody, pickFields(await readForm(c), "role"), "body");
    await setMember(c.var.services, viewerOf(c).caller, organization, username, role);
    return redirectWithFlash(c, `${username} is now ${role}.`, `${LIST}/${organization}`);
  })
  .post(`${ONE}/members/:username/remove`, requireUser, async (c) => {
    const { organization, username } = c.req.param();
    const { caller, user } = viewerOf(c);
    await removeMember(c.var.services, caller, organization, username);
    return username === user.username
      ? redirectWithFlash(c, `You have left ${organization}.`, LIST)
      : redirectWithFlash(c, `${username} was removed.`, `${LIST}/${organization}`);
  })
  .post(`${ONE}/invitations`, requireUser, async (c) => {
    const { organization } = c.req.param();
    const { done, draft } = await handleForm(c, async (form) => {
      const request = parse(createOrganizationInvitation, pickFields(form, "role", "note"), "body");
      const { caller } = viewerOf(c);
      return invite(c.var.services, caller, organization, request, c.var.origin);
    });
    return show(
      c,
      organization,
      draft ? { drafts: { invitation: draft } } : { invitation: done.url },
    );
  })
  .post(`${ONE}/invitations/:id/revoke`, requireUser, async (c) => {
    const { organization, id } = c.req.param();
    await revokeInvitation(c.var.services, viewerOf(c).caller, organization, id);
    return redirectWithFlash(c, "Invitation revoked.", `${LIST}/${organization}`);
  })
  .post(`${ONE}/tokens`, requireUser, async (c) => {
    const { organization } = c.req.param();
    const { done: token, draft } = await handleForm(c, async (form) => {
      const fields = {
        ...readTokenForm(form, Date.now()),
        service_role: fieldText(form, "service_role") || null,
      };
      const request = parse(createTokenBody, fields, "body");
      const { caller } = viewerOf(c);
      const made = await createOrganizationToken(c.var.services, caller, organization, request);
      const call = request.scopes.includes("read") ? "user" : "models";
      return { token: made.token, name: request.name, url: `${c.var.origin}/v1/${call}` };
    });
    return show(c, organization, draft ? { drafts: { token: draft } } : { token });
  })
  .post(`${ONE}/tokens/:id/revoke`, requireUser, async (c) => {
    const { organization, id } = c.req.param();
    await revokeOrganizationToken(c.var.services, viewerOf(c).caller, organization, id);
    return redirectWithFlash(
      c,
      "Token revoked. It stops working within 10 seconds.",
      `${LIST}/${organization}`,
    );
  })
  .post(`${ONE}/delete`, requireUser, async (c) => {
    const { organization } = c.req.param();
    if (fieldText(await readForm(c), "confirm") !== organization)
      return redirectWithFlash(
        c,
        `Nothing was deleted. Type ${organization} to confirm.`,
        `${LIST}/${organization}`,
      );
    await deleteOrganization(c.var.services, viewerOf(c).caller, organization);
    return redirectWithFlash(c, `${organization} was deleted.`, LIST);
  })
  .get("/join/:invitation", requireUser, async (c) => {
    const { invitation } = c.req.param();
    const open = await readInvitation(c.var.services, invitation);
    return c.render(<JoinPage invitation={invitation} {...open} />, {
      title: `Join ${open.organization}`,
    });
  })
  .post("/join/:invitation", requireUser, async (c) => {
    const joined = await join(c.var.services, viewerOf(c).caller, c.req.param("invitation"));
    return redirectWithFlash(
      c,
      `You have joined ${joined.username}.`,
      `${LIST}/${joined.username}`,
    );
  });

async function showAll(c: PageContext, draft: Draft) {
  const organizations = await listOrganizations(c.var.services, viewerOf(c).caller);
  return c.render(<OrganizationsPage organizations={organizations} draft={draft} />, {
    title: "Organizations",
  });
}

async function show(c: PageContext, username: string, outcome: Outcome = {}) {
  const { services } = c.var;
  const { caller, user } = viewerOf(c);
  const organization = await readOrganization(services, caller, username);
  const isAdmin = hasRole(organization, "admin");
  const list = { size: PAGE_SIZE, url: c.req.url, cursor: undefined };
  const [members, invitations, tokens] = await Promise.all([
    listMembers(services, caller, username, { ...list, cursor: c.req.query("cursor") }),
    isAdmin ? listInvitations(services, caller, username) : undefined,
    listOrganizationTokens(services, caller, username, { ...list, size: 100 }),
  ]);
  const view = { organization, members, invitations, tokens, self: user.username, models: [] };
  return c.render(<OrganizationPage {...view} outcome={outcome} />, { title: username });
}
