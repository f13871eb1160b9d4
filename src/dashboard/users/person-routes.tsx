/** `/users/{username}`, for operators: a user, and what can be done about them. */
import { conflict, notFound } from "../../errors.ts";
import { releaseFormerUsername } from "../../services/accounts/people.ts";
import { viewPerson } from "../../services/accounts/person-view.ts";
import { restoreAccount, suspendAccount } from "../../services/accounts/suspension.ts";
import { revokeOwnToken } from "../../services/accounts/tokens.ts";
import { getUser } from "../../services/accounts/users.ts";
import { invite } from "../../services/sign-in/invitations.ts";
import { demote } from "../../services/sign-in/operators.ts";
import { requireOperator, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { fieldText, readForm } from "../form.ts";
import { PersonPage } from "./person.tsx";
import { linkOf } from "./routes.tsx";

const PAGE_SIZE = 25;

const ONE = "/users/:username";

/** Back on the page of the user. */
const done = (c: PageContext, message: string) =>
  redirectWithFlash(c, message, `/users/${usernameIn(c)}`);

const usernameIn = (c: PageContext) => c.req.param("username") ?? "";

export const personPages = pages()
  .get(ONE, requireOperator, (c) => show(c))
  .post(`${ONE}/suspend`, requireOperator, async (c) => {
    const username = usernameIn(c);
    if (username === viewerOf(c).user.username)
      throw conflict("You cannot suspend your own account. Another operator can.");
    const models = fieldText(await readForm(c), "models") === "hide" ? "hide" : "keep";
    await suspendAccount(c.var.services, username, { models });
    return done(c, "Account suspended. Its predictions are canceled.");
  })
  .post(`${ONE}/restore`, requireOperator, async (c) => {
    await restoreAccount(c.var.services, usernameIn(c));
    return done(c, "Account restored.");
  })
  .post(`${ONE}/demote`, requireOperator, async (c) => {
    const { id } = await getUser(c.var.services, usernameIn(c));
    await demote(c.var.services, id);
    // They can no longer open this page.
    if (id === viewerOf(c).user.id)
      return redirectWithFlash(c, "You are no longer an operator.", "/set-up");
    return done(c, "Operator demoted.");
  })
  .post(`${ONE}/recovery`, requireOperator, async (c) => {
    const username = usernameIn(c);
    const request = { note: username, username };
    return show(c, linkOf(c, await invite(c.var.services, viewerOf(c).user.id, request)));
  })
  .post(`${ONE}/tokens/:id/revoke`, requireOperator, async (c) => {
    const { id } = await getUser(c.var.services, usernameIn(c));
    await revokeOwnToken(c.var.services, id, c.req.param("id") ?? "");
    return done(c, "Token revoked. It stops working within 10 seconds.");
  })
  .post(`${ONE}/usernames/:former/release`, requireOperator, async (c) => {
    const former = c.req.param("former") ?? "";
    await releaseFormerUsername(c.var.services, usernameIn(c), former);
    return done(c, `${former} is released.`);
  });

/** @param link a recovery link, shown only once */
async function show(c: PageContext, link?: string) {
  const { services, origin } = c.var;
  const username = usernameIn(c);
  if (username === "") throw notFound("This page");
  const url = new URL(`/users/${username}`, origin).href;
  const request = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url };
  const view = await viewPerson(services, username, request);
  const page = (
    <PersonPage
      view={view}
      isOneself={view.person.id === viewerOf(c).user.id}
      link={link}
      now={Date.now()}
    />
  );
  return c.render(page, { title: username });
}
