/** `/fleet/tokens`: the tokens of runners. */
import { invalid } from "../../domain/schemas/validation.ts";
import { createRunnerToken as createRunnerTokenBody } from "../../protocol/operator.ts";
import { checked } from "../../routes/context.ts";
import {
  createRunnerToken,
  listRunnerTokens,
  revokeRunnerToken,
} from "../../services/accounts/tokens.ts";
import { listHardware } from "../../services/runners/hardware.ts";
import { operatorsOnly } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { done } from "../flash.ts";
import { blank, type Draft, submit, textOf, textsOf } from "../form.ts";
import type { NewRunner } from "./install.tsx";
import { RunnerTokensPage } from "./tokens.tsx";

const PAGE_SIZE = 25;
/** A token serves as many at most. */
const MAX_CLASSES = 50;

export const runnerTokenPages = pages()
  .get("/fleet/tokens", operatorsOnly, (c) => show(c, blank))
  .post("/fleet/tokens", operatorsOnly, async (c) => {
    const {
      done: made,
      draft,
      status,
    } = await submit(c, async (form) => {
      const hardware = textsOf(form, "hardware").filter(Boolean);
      if (hardware.length === 0)
        throw invalid(["body", "hardware"], "Select at least one hardware class.");
      const said = { name: textOf(form, "name").trim(), hardware };
      const request = checked(createRunnerTokenBody, said, "body");
      const { token } = await createRunnerToken(c.var.services, request);
      return { ...request, token, origin: c.var.origin, runner: c.var.assets.runner };
    });
    if (draft) {
      c.status(status);
      return show(c, draft);
    }
    return show(c, blank, made);
  })
  .post("/fleet/tokens/:id/revoke", operatorsOnly, async (c) => {
    await revokeRunnerToken(c.var.services, c.req.param("id"));
    const words =
      "Token revoked. Within 10 seconds its runners get no more work, and their predictions restart elsewhere or fail.";
    return done(c, words, "/fleet/tokens");
  });

/** @param made the token that was just made: it is not shown again */
async function show(c: PageContext, draft: Draft, made?: NewRunner) {
  const { services } = c.var;
  const list = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
  const [page, { items: hardware }] = await Promise.all([
    listRunnerTokens(services, list),
    listHardware(services, { ...list, cursor: undefined, size: MAX_CLASSES }),
  ]);
  return c.render(<RunnerTokensPage draft={draft} made={made} page={page} hardware={hardware} />, {
    title: "Runner tokens",
  });
}
