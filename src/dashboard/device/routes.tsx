/** `/device`: approving the login that `auspex login` has begun in a terminal. */
import { answerDeviceLogin as answerBody, DEVICE_PAGE } from "../../protocol/device-login.ts";
import { parse } from "../../routes/router.ts";
import { answerDeviceLogin, readDeviceLogin } from "../../services/accounts/device-login.ts";
import { limitAttempts, requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, fieldText, handleForm, pickFields } from "../form.ts";
import { CodePage, ConfirmPage } from "./pages.tsx";

export const devicePages = pages()
  .get(DEVICE_PAGE, requireUser, (c) => showCode(c, emptyDraft))
  .post(DEVICE_PAGE, requireUser, async (c) => {
    const { done: login, draft } = await handleForm(c, async (form) => {
      await limitAttempts(c, viewerOf(c).session_id);
      return readDeviceLogin(c.var.services, fieldText(form, "user_code"));
    });
    if (draft) return showCode(c, draft);
    const { username } = viewerOf(c).user;
    return c.render(<ConfirmPage {...login} username={username} />, { title: TITLE });
  })
  .post(`${DEVICE_PAGE}/answer`, requireUser, async (c) => {
    const { done: answer, draft } = await handleForm(c, async (form) => {
      await limitAttempts(c, viewerOf(c).session_id);
      const { user_code, answer } = parse(
        answerBody,
        pickFields(form, "user_code", "answer"),
        "body",
      );
      const { id } = viewerOf(c).user;
      await answerDeviceLogin(c.var.services, id, user_code, answer === "approve");
      return answer;
    });
    if (draft) return showCode(c, draft);
    return answer === "approve"
      ? redirectWithFlash(c, "Login approved. Continue in your terminal.", "/tokens")
      : redirectWithFlash(c, "Login denied. The machine gets no access.", DEVICE_PAGE);
  });

const TITLE = "Log in from a terminal";

const showCode = (c: PageContext, draft: Draft) =>
  c.render(<CodePage draft={draft} />, { title: TITLE });
