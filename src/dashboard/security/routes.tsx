/** `/account/security`: password, passkeys, sessions and password resets. */
import { changePassword as changePasswordForm, recoveriesRead } from "../../protocol/sign-in.ts";
import { parse } from "../../routes/router.ts";
import {
  changePassword,
  endSession,
  endSessions,
  listRecentRecoveries,
  listSignInMethods,
  markRecoveriesRead,
  removePasskey,
} from "../../services/sign-in/security.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, requestSource } from "../context.ts";
import { addCookies } from "../cookies.ts";
import { redirectWithFlash } from "../flash.ts";
import { type Draft, emptyDraft, handleForm, pickFields, readForm } from "../form.ts";
import { limitAttempts } from "../sign-in/attempts.ts";
import { SecurityPage } from "./page.tsx";

const ADDRESS = "/account/security";

export const securityPages = pages()
  .get(ADDRESS, requireUser, (c) => show(c, emptyDraft))
  .post(`${ADDRESS}/password`, requireUser, async (c) => {
    const {
      done: cookies,
      draft,
      status,
    } = await handleForm(c, async (form) => {
      await limitAttempts(c, viewerOf(c).session_id);
      const request = parse(changePasswordForm, pickFields(form, "current", "password"), "body");
      return changePassword(c.var.services, viewerOf(c).user.id, requestSource(c), request);
    });
    if (draft) {
      c.status(status);
      return show(c, draft);
    }
    addCookies(c, cookies);
    return redirectWithFlash(c, "Password changed. Other sessions were signed out.", ADDRESS);
  })
  .post(`${ADDRESS}/passkeys/:id/remove`, requireUser, async (c) => {
    await removePasskey(c.var.services, viewerOf(c).user.id, c.req.param("id"));
    return redirectWithFlash(c, "Passkey removed.", ADDRESS);
  })
  .post(`${ADDRESS}/sessions/:id/end`, requireUser, async (c) => {
    await endSession(c.var.services, viewerOf(c).user.id, c.req.param("id"));
    return redirectWithFlash(c, "Session signed out.", ADDRESS);
  })
  .post(`${ADDRESS}/sessions/end`, requireUser, async (c) => {
    await endSessions(c.var.services, viewerOf(c).user.id);
    return redirectWithFlash(c, "You are signed out everywhere.", "/sign-in");
  })
  .post(`${ADDRESS}/recoveries/read`, requireUser, async (c) => {
    const { until } = parse(recoveriesRead, pickFields(await readForm(c), "until"), "body");
    await markRecoveriesRead(c.var.services, viewerOf(c).user.id, until);
    return redirectWithFlash(c, "Notice dismissed. The reset stays listed here.", ADDRESS);
  });

async function show(c: PageContext, draft: Draft) {
  const viewer = viewerOf(c);
  const { services } = c.var;
  const [ways, recoveries] = await Promise.all([
    listSignInMethods(services, viewer.user.id),
    listRecentRecoveries(services, viewer.user.id),
  ]);
  const page = <SecurityPage draft={draft} ways={ways} recoveries={recoveries} viewer={viewer} />;
  return c.render(page, { title: "Security", scripts: ["passkey"] });
}
