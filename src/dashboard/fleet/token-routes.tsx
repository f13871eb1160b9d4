/** `/fleet/tokens`: runner tokens. */
import { invalid } from "../../domain/schemas/validation.ts";
import { createRunnerToken as createRunnerTokenBody } from "../../protocol/operator.ts";
import { parse } from "../../routes/router.ts";
import { createRunnerToken, listRunnerTokens } from "../../services/accounts/tokens.ts";
import { groupByPool, listHardware } from "../../services/runners/hardware.ts";
import { revokeRunnerToken } from "../../services/runners/revocation.ts";
import { requireOperator, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { type Draft, emptyDraft, fieldText, fieldTexts, handleForm } from "../form.ts";
import type { NewRunner } from "./install.tsx";
import { RunnerTokensPage } from "./tokens.tsx";

const PAGE_SIZE = 25;
/** The most that a token can serve. */
const MAX_CLASSES = 50;

export const runnerTokenPages = pages()
  .get("/fleet/tokens", requireOperator, (c) => show(c, emptyDraft))
  .post("/fleet/tokens", requireOperator, async (c) => {
    const {
      done: created,
      draft,
      status,
    } = await handleForm(c, async (form) => {
      const hardware = fieldTexts(form, "hardware");
      if (hardware.length === 0)
        throw invalid(["body", "hardware"], "Select at least one hardware class.");
      const values = { name: fieldText(form, "name").trim(), hardware };
      const request = parse(createRunnerTokenBody, values, "body");
      const { token } = await createRunnerToken(c.var.services, request);
      const pools = await groupByPool(c.var.services, request.hardware);
      const { name } = request;
      return { name, token, pools, origin: c.var.origin, runner: c.var.assets.runner };
    });
    if (draft) {
      c.status(status);
      return show(c, draft);
    }
    return show(c, emptyDraft, created);
  })
  .post("/fleet/tokens/:id/revoke", requireOperator, async (c) => {
    await revokeRunnerToken(c.var.services, c.req.param("id"), viewerOf(c).user.id);
    const message =
      "Token revoked. Within 10 seconds its runners get no more work, and their predictions restart elsewhere or fail.";
    return redirectWithFlash(c, message, "/fleet/tokens");
  });

/** @param created a new token, shown only once */
async function show(c: PageContext, draft: Draft, created?: NewRunner) {
  const { services } = c.var;
  const list = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
  const [page, { items: hardware }] = await Promise.all([
    listRunnerTokens(services, list),
    listHardware(services, { ...list, cursor: undefined, size: MAX_CLASSES }),
  ]);
  return c.render(
    <RunnerTokensPage draft={draft} created={created} page={page} hardware={hardware} />,
    {
      title: "Runner tokens",
    },
  );
}
