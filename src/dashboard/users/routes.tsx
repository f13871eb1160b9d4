/** `/users`, for operators: invitations, operators and suspended accounts. */
import { invalid } from "../../domain/schemas/validation.ts";
import { createInvitation, suspension } from "../../protocol/sign-in.ts";
import { parse } from "../../routes/router.ts";
import {
  listSuspendedAccounts,
  restoreAccount,
  suspendAccount,
} from "../../services/accounts/suspension.ts";
import {
  invite,
  listOpenInvitations,
  withdrawInvitation,
} from "../../services/sign-in/invitations.ts";
import { demote, listCurrentOperators } from "../../services/sign-in/operators.ts";
import { requireOperator, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { emptyDraft, fieldText, handleForm, pickFields } from "../form.ts";
import { type Drafts, UsersPage } from "./page.tsx";

export const userPages = pages()
  .get("/users", requireOperator, (c) => show(c, {}))
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
      return show(c, { invitation: draft });
    }
    return show(c, {}, `${c.var.origin}/sign-up#invitation=${token}`);
  })
  .post("/users/invitations/:id/withdraw", requireOperator, async (c) => {
    await withdrawInvitation(c.var.services, c.req.param("id"));
    return redirectWithFlash(c, "Invitation revoked.", "/users");
  })
  .post("/users/operators/:id/demote", requireOperator, async (c) => {
    const id = c.req.param("id");
    await demote(c.var.services, id);
    // They can no longer open this page.
    if (id === viewerOf(c).user.id)
      return redirectWithFlash(c, "You are no longer an operator.", "/set-up");
    return redirectWithFlash(c, "Operator demoted.", "/users");
  })
  .post("/users/suspensions", requireOperator, async (c) => {
    const { draft, status } = await handleForm(c, async (form) => {
      const fields = { username: fieldText(form, "suspend") };
      const { username } = parse(suspension, fields, "body");
      if (username === viewerOf(c).user.username)
        throw invalid(["body", "suspend"], "You cannot suspend your own account.");
      await suspendAccount(c.var.services, username);
    });
    if (!draft)
      return redirectWithFlash(c, "Account suspended. Its predictions are canceled.", "/users");
    c.status(status);
    return show(c, { suspension: draft });
  })
  .post("/users/suspensions/:username/end", requireOperator, async (c) => {
    await restoreAccount(c.var.services, c.req.param("username"));
    return redirectWithFlash(c, "Account restored.", "/users");
  });

/** @param link of a new invitation, shown only once */
async function show(c: PageContext, drafts: Partial<Drafts>, link?: string) {
  const { services } = c.var;
  const [invitations, operators, suspended] = await Promise.all([
    listOpenInvitations(services),
    listCurrentOperators(services),
    listSuspendedAccounts(services),
  ]);
  const page = (
    <UsersPage
      drafts={{ invitation: emptyDraft, suspension: emptyDraft, ...drafts }}
      link={link}
      invitations={invitations}
      operators={operators}
      suspended={suspended}
      signUp={services.settings.signUp}
    />
  );
  return c.render(page, { title: "Users" });
}
