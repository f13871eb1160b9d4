/** `/users`: who operates the deployment, whose account is suspended, and who is invited. */
import { invalid } from "../../domain/schemas/validation.ts";
import { createInvitation, suspension } from "../../protocol/sign-in.ts";
import { checked } from "../../routes/context.ts";
import { restore, suspend, suspendedNow } from "../../services/accounts/suspension.ts";
import { invitationsOpen, invite, withdrawInvitation } from "../../services/sign-in/invitations.ts";
import { demote, operatorsNow } from "../../services/sign-in/operators.ts";
import { operatorsOnly, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { done } from "../flash.ts";
import { blank, fieldsOf, submit, textOf } from "../form.ts";
import { type Drafts, PeoplePage } from "./page.tsx";

export const peoplePages = pages()
  .get("/users", operatorsOnly, (c) => show(c, {}))
  .post("/users/invitations", operatorsOnly, async (c) => {
    const {
      done: token,
      draft,
      status,
    } = await submit(c, async (form) =>
      invite(
        c.var.services,
        viewerOf(c).user.id,
        checked(createInvitation, fieldsOf(form, "note", "username"), "body"),
      ),
    );
    if (draft) {
      c.status(status);
      return show(c, { invitation: draft });
    }
    return show(c, {}, `${c.var.origin}/sign-up#invitation=${token}`);
  })
  .post("/users/invitations/:id/withdraw", operatorsOnly, async (c) => {
    await withdrawInvitation(c.var.services, c.req.param("id"));
    return done(c, "Invitation revoked.", "/users");
  })
  .post("/users/operators/:id/demote", operatorsOnly, async (c) => {
    const id = c.req.param("id");
    await demote(c.var.services, id);
    // This page is not for them any more.
    if (id === viewerOf(c).user.id) return done(c, "You are no longer an operator.", "/set-up");
    return done(c, "Operator demoted.", "/users");
  })
  .post("/users/suspensions", operatorsOnly, async (c) => {
    const { draft, status } = await submit(c, async (form) => {
      const fields = { username: textOf(form, "suspend") };
      const { username } = checked(suspension, fields, "body");
      if (username === viewerOf(c).user.username)
        throw invalid(["body", "suspend"], "You cannot suspend your own account.");
      await suspend(c.var.services, username);
    });
    if (!draft) return done(c, "Account suspended. Its predictions are canceled.", "/users");
    c.status(status);
    return show(c, { suspension: draft });
  })
  .post("/users/suspensions/:username/end", operatorsOnly, async (c) => {
    await restore(c.var.services, c.req.param("username"));
    return done(c, "Account restored.", "/users");
  });

/** @param link of the invitation that was just made: it is not shown again. */
async function show(c: PageContext, drafts: Partial<Drafts>, link?: string) {
  const { services } = c.var;
  const [invitations, operators, suspended] = await Promise.all([
    invitationsOpen(services),
    operatorsNow(services),
    suspendedNow(services),
  ]);
  const page = (
    <PeoplePage
      drafts={{ invitation: blank, suspension: blank, ...drafts }}
      link={link}
      invitations={invitations}
      operators={operators}
      suspended={suspended}
      signUp={services.settings.signUp}
    />
  );
  return c.render(page, { title: "Users" });
}
