/** `/users`, for operators: all users, and invitations. */
import { createInvitation } from "../../protocol/sign-in.ts";
import { parse } from "../../routes/router.ts";
import { CIRCLES, listPeople, searchPeople } from "../../services/accounts/people.ts";
import {
  invite,
  listOpenInvitations,
  withdrawInvitation,
} from "../../services/sign-in/invitations.ts";
import { requireOperator, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { type Draft, emptyDraft, handleForm, MAX_QUERY, pickFields } from "../form.ts";
import { UsersPage } from "./page.tsx";

const PAGE_SIZE = 50;

/** Returns the link of a new invitation: the fragment after # is in no log. */
export const linkOf = (c: PageContext, token: string) =>
  `${c.var.origin}/sign-up#invitation=${token}`;

export const userPages = pages()
  .get("/users", requireOperator, (c) => show(c, emptyDraft))
  .post("/users/invitations", requireOperator, async (c) => {
    const {
      done: token,
      draft,
      status,
    } = await handleForm(c, async (form) =>
      invite(
        c.var.services,
        viewerOf(c).user.id,
        parse(createInvitation, pickFields(form, "note", "username"), "body"),
      ),
    );
    if (draft) {
      c.status(status);
      return show(c, draft);
    }
    return show(c, emptyDraft, linkOf(c, token));
  })
  .post("/users/invitations/:id/withdraw", requireOperator, async (c) => {
    await withdrawInvitation(c.var.services, c.req.param("id"));
    return redirectWithFlash(c, "Invitation revoked.", "/users");
  });

/** @param link of a new invitation, shown only once */
async function show(c: PageContext, draft: Draft, link?: string) {
  const { services } = c.var;
  const circle = CIRCLES.find((name) => name === c.req.query("show")) ?? "everybody";
  const query = circle === "everybody" ? (c.req.query("q")?.trim().slice(0, MAX_QUERY) ?? "") : "";
  // Links to the pages of the list lead to the page itself, also after a form.
  const url = new URL("/users", c.var.origin);
  url.search = new URL(c.req.url).search;
  const request = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: url.href };
  const [invitations, people] = await Promise.all([
    listOpenInvitations(services),
    query === "" ? listPeople(services, circle, request) : searchPeople(services, query, request),
  ]);
  const page = (
    <UsersPage
      draft={draft}
      link={link}
      invitations={invitations}
      circle={circle}
      query={query}
      people={people}
      signUp={services.settings.signUp}
    />
  );
  return c.render(page, { title: "Users" });
}
