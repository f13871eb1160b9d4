/**
 * `/organizations` and `/join/{invitation}`: organizations with their members, invitations and tokens. The pages that
 * they share with other accounts are mounted in app.tsx.
 */

import { hasRole } from "../../domain/accounts/access.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import {
  createOrganization as createOrganizationBody,
  createOrganizationInvitation,
  createOrganizationToken as createTokenBody,
  setMember as setMemberBody,
} from "../../protocol/organization.ts";
import { updateToken } from "../../protocol/token-limits.ts";
import { parse } from "../../routes/router.ts";
import { isSuspended } from "../../services/access/access.ts";
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
  createOrganizationToken,
  listOrganizationTokens,
  readOrganizationToken,
  revokeOrganizationToken,
  updateOrganizationToken,
} from "../../services/accounts/organization-tokens.ts";
import {
  createOrganization,
  deleteOrganization,
  listOrganizations,
  updateOrganization,
} from "../../services/accounts/organizations.ts";
import { listOwnModels } from "../../services/models/models.ts";
import { isAdmitted, readAdmission } from "../../services/sign-in/admission.ts";
import { requireRole, requireUser, viewerOf } from "../access.ts";
import { ORGANIZATION, organizationAddress } from "../addresses.ts";
import { readBudgets } from "../budgets/read.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import {
  type Draft,
  emptyDraft,
  fieldText,
  handleForm,
  MAX_QUERY,
  pickFields,
  readForm,
} from "../form.ts";
import { showHome } from "../home/routes.tsx";
import { LimitsPage, readLimits } from "../tokens/limits.tsx";
import { type CreatedToken, readTokenForm } from "../tokens/new-token.tsx";
import { LIMITS_CHANGED } from "../tokens/routes.tsx";
import {
  DeletionPage,
  JoinPage,
  MembersPage,
  OrganizationsPage,
  VisitorJoinPage,
} from "./pages.tsx";
import { TokensPage } from "./tokens.tsx";

const LIST = "/organizations";
const MEMBERS = `${ORGANIZATION}/members` as const;
const TOKENS = `${ORGANIZATION}/tokens` as const;
const PAGE_SIZE = 50;
/** The newest models are offered as checkboxes; others can be typed. */
const MAX_MODELS = 50;

const deletionAccess = requireRole("owner", "The deletion of the organization");

export const organizationPages = pages()
  .get(LIST, requireUser, (c) => showAll(c, emptyDraft))
  .post(LIST, requireUser, async (c) => {
    const { done, draft } = await handleForm(c, async (form) => {
      const request = parse(createOrganizationBody, pickFields(form, "username", "name"), "body");
      return createOrganization(c.var.services, viewerOf(c).caller, request);
    });
    if (draft) return showAll(c, draft);
    return redirectWithFlash(c, "Organization created.", organizationAddress(done));
  })
  .get(ORGANIZATION, requireUser, showHome)
  .get(MEMBERS, requireUser, (c) => showMembers(c))
  .post(`${MEMBERS}/:username`, requireUser, async (c) => {
    const { organization, username } = c.req.param();
    const { done: member, draft } = await handleForm(c, (form) => {
      const { role } = parse(setMemberBody, pickFields(form, "role"), "body");
      return setMember(c.var.services, viewerOf(c).caller, organization, username, role);
    });
    if (draft) return showMembers(c, { refusal: draft });
    return redirectWithFlash(c, `${username} is now ${member.role}.`, membersOf(organization));
  })
  .post(`${MEMBERS}/:username/remove`, requireUser, async (c) => {
    const { organization, username } = c.req.param();
    const { caller, user } = viewerOf(c);
    const { draft } = await handleForm(c, () =>
      removeMember(c.var.services, caller, organization, username),
    );
    if (draft) return showMembers(c, { refusal: draft });
    return username === user.username
      ? redirectWithFlash(c, `You have left ${organization}.`, LIST)
      : redirectWithFlash(c, `${username} was removed.`, membersOf(organization));
  })
  .post(`${ORGANIZATION}/invitations`, requireUser, async (c) => {
    const { organization } = c.req.param();
    const { done, draft } = await handleForm(c, async (form) => {
      const request = parse(createOrganizationInvitation, pickFields(form, "role", "note"), "body");
      const { caller } = viewerOf(c);
      return invite(c.var.services, caller, organization, request, c.var.origin);
    });
    return showMembers(c, draft ? { draft } : { invited: done.url });
  })
  .post(`${ORGANIZATION}/invitations/:id/revoke`, requireUser, async (c) => {
    const { organization, id } = c.req.param();
    await revokeInvitation(c.var.services, viewerOf(c).caller, organization, id);
    return redirectWithFlash(c, "Invitation revoked.", membersOf(organization));
  })
  .get(TOKENS, requireUser, (c) => showTokens(c, emptyDraft))
  .post(TOKENS, requireUser, async (c) => {
    const { organization } = c.req.param();
    const { done: created, draft } = await handleForm(c, async (form) => {
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
    return draft ? showTokens(c, draft) : showTokens(c, emptyDraft, created);
  })
  .get(`${TOKENS}/:id`, requireUser, (c) => showLimits(c, emptyDraft))
  .post(`${TOKENS}/:id`, requireUser, async (c) => {
    const { organization, id } = c.req.param();
    const { draft } = await handleForm(c, async (form) => {
      const { limits } = parse(updateToken, { limits: readLimits(form) }, "body");
      await updateOrganizationToken(c.var.services, viewerOf(c).caller, organization, id, limits);
    });
    if (draft) return showLimits(c, draft);
    return redirectWithFlash(c, LIMITS_CHANGED, tokensOf(organization));
  })
  .post(`${TOKENS}/:id/revoke`, requireUser, async (c) => {
    const { organization, id } = c.req.param();
    await revokeOrganizationToken(c.var.services, viewerOf(c).caller, organization, id);
    const message = "Token revoked. It stops working within 10 seconds.";
    return redirectWithFlash(c, message, tokensOf(organization));
  })
  .post(`${ORGANIZATION}/second-factor`, requireUser, async (c) => {
    const { organization } = c.req.param();
    const required = fieldText(await readForm(c), "required") === "yes";
    await updateOrganization(c.var.services, viewerOf(c).caller, organization, {
      requires_second_factor: required,
    });
    return redirectWithFlash(
      c,
      required ? "Members now need a second factor." : "Members no longer need a second factor.",
      `${organizationAddress({ username: organization })}/settings`,
    );
  })
  .get(`${ORGANIZATION}/delete`, deletionAccess, (c) => showDeletion(c, emptyDraft))
  .post(`${ORGANIZATION}/delete`, deletionAccess, async (c) => {
    const { organization } = c.req.param();
    const { draft } = await handleForm(c, async (form) => {
      if (fieldText(form, "confirm").trim() !== organization)
        throw invalid(["body", "confirm"], `Type ${organization} to confirm.`);
      await deleteOrganization(c.var.services, viewerOf(c).caller, organization);
    });
    if (draft) return showDeletion(c, draft);
    return redirectWithFlash(c, `${organization} deleted. Its data is being removed.`, LIST);
  })
  .get("/join/:invitation", async (c) => {
    const { invitation } = c.req.param();
    const { services, viewer } = c.var;
    const open = await readInvitation(services, invitation);
    const title = `Join ${open.organization}`;
    if (viewer) return c.render(<JoinPage invitation={invitation} {...open} />, { title });
    const admits = isAdmitted(services, await readAdmission(services, { invitation }));
    return c.render(<VisitorJoinPage {...{ invitation, ...open, admits }} />, { title });
  })
  .post("/join/:invitation", requireUser, async (c) => {
    const joined = await join(c.var.services, viewerOf(c).caller, c.req.param("invitation"));
    return redirectWithFlash(c, `You have joined ${joined.username}.`, organizationAddress(joined));
  });

const membersOf = (username: string) => `${organizationAddress({ username })}/members`;

async function showAll(c: PageContext, draft: Draft) {
  const organizations = await listOrganizations(c.var.services, viewerOf(c).caller);
  return c.render(<OrganizationsPage organizations={organizations} draft={draft} />, {
    title: "Organizations",
  });
}

interface MembersState {
  invited?: string;
  /** The form of an invitation that was refused. */
  draft?: Draft;
  /** A change of a member that was refused. */
  refusal?: Draft;
}

async function showMembers(c: PageContext, { invited, draft, refusal }: MembersState = {}) {
  const { services } = c.var;
  const { caller, user, account } = viewerOf(c);
  const { username } = account;
  const query = (c.req.query("q") ?? "").trim().slice(0, MAX_QUERY);
  const list = { size: PAGE_SIZE, url: c.req.url, cursor: c.req.query("cursor") };
  const [members, invitations, budgets] = await Promise.all([
    listMembers(services, caller, username, list, query),
    hasRole(caller, "admin") && !isSuspended(account)
      ? listInvitations(services, caller, username)
      : undefined,
    readBudgets(c),
  ]);
  const whose = { organization: username, role: caller.role, self: user.username };
  const forms = { invited, draft: draft ?? emptyDraft, refusal: refusal ?? emptyDraft };
  const shown = { members, query, invitations, budgets };
  return c.render(<MembersPage {...whose} {...forms} {...shown} />, {
    title: "Members",
  });
}

async function showTokens(c: PageContext, draft: Draft, created?: CreatedToken) {
  const { services } = c.var;
  const { caller, account } = viewerOf(c);
  const { username } = account;
  const list = { size: PAGE_SIZE, url: c.req.url, cursor: c.req.query("cursor") };
  const [tokens, own, budgets] = await Promise.all([
    listOrganizationTokens(services, caller, username, list),
    listOwnModels(services, caller, { ...list, cursor: undefined, size: MAX_MODELS }),
    readBudgets(c),
  ]);
  const models = own.items.map(({ name }) => `${username}/${name}`);
  const whose = { organization: username, role: caller.role };
  return c.render(<TokensPage {...{ ...whose, tokens, models, created, budgets, draft }} />, {
    title: "Access tokens",
  });
}

const tokensOf = (organization: string) =>
  `${organizationAddress({ username: organization })}/tokens`;

async function showLimits(c: PageContext, draft: Draft) {
  const { organization = "", id = "" } = c.req.param();
  const { caller } = viewerOf(c);
  const [token, budgets] = await Promise.all([
    readOrganizationToken(c.var.services, caller, organization, id),
    readBudgets(c),
  ]);
  return c.render(<LimitsPage {...{ token, budgets, draft }} at={tokensOf(organization)} />, {
    title: "Limits of a token",
  });
}

const showDeletion = (c: PageContext, draft: Draft) =>
  c.render(<DeletionPage organization={viewerOf(c).account.username} draft={draft} />, {
    title: "Danger zone",
  });
