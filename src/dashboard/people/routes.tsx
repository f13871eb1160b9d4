/** `/people`: whom operators have invited. */
import { createInvitation } from "../../protocol/sign-in.ts";
import { checked } from "../../routes/context.ts";
import { invitationsOpen, invite, withdrawInvitation } from "../../services/sign-in/invitations.ts";
import { operatorsOnly } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { done } from "../flash.ts";
import { blank, type Draft, fieldsOf, submit } from "../form.ts";
import { PeoplePage } from "./page.tsx";

export const peoplePages = pages()
  .get("/people", operatorsOnly, (c) => show(c, blank))
  .post("/people/invitations", operatorsOnly, async (c) => {
    const {
      done: token,
      draft,
      status,
    } = await submit(c, async (form) =>
      invite(c.var.services, checked(createInvitation, fieldsOf(form, "note", "username"), "body")),
    );
    if (draft) {
      c.status(status);
      return show(c, draft);
    }
    return show(c, blank, `${c.var.origin}/sign-up?invitation=${token}`);
  })
  .post("/people/invitations/:id/withdraw", operatorsOnly, async (c) => {
    await withdrawInvitation(c.var.services, c.req.param("id"));
    return done(c, "The invitation is withdrawn.", "/people");
  });

/** @param link of the invitation that was just made: it is not shown again. */
async function show(c: PageContext, draft: Draft, link?: string) {
  const { services } = c.var;
  const invitations = await invitationsOpen(services);
  const { signUp } = services.settings;
  const page = <PeoplePage draft={draft} link={link} invitations={invitations} signUp={signUp} />;
  return c.render(page, { title: "People" });
}
