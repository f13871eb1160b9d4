/** `/tokens`: your access tokens. */
import { createToken as createTokenBody } from "../../protocol/operator.ts";
import { parse } from "../../routes/router.ts";
import { createToken, listTokens, revokeOwnToken } from "../../services/accounts/tokens.ts";
import { listOwnModels } from "../../services/models/models.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { type Draft, emptyDraft, handleForm } from "../form.ts";
import { readTokenForm } from "./form.ts";
import type { CreatedToken } from "./new-token.tsx";
import { TokensPage } from "./page.tsx";

const PAGE_SIZE = 25;

/** The newest models are offered as checkboxes; others can be typed. */
const MAX_OWN_MODELS = 50;

export const tokenPages = pages()
  .get("/tokens", requireUser, (c) => show(c, emptyDraft))
  .post("/tokens", requireUser, async (c) => {
    const {
      done: created,
      draft,
      status,
    } = await handleForm(c, async (form) => {
      const request = parse(createTokenBody, readTokenForm(form, Date.now()), "body");
      const { token } = await createToken(c.var.services, viewerOf(c).user.id, request);
      // Without `read`, /user is forbidden; the public list of models checks the token too.
      const call = request.scopes.includes("read") ? "user" : "models";
      return { token, name: request.name, url: `${c.var.origin}/v1/${call}` };
    });
    if (draft) {
      c.status(status);
      return show(c, draft);
    }
    // Only in this response, which is never cached (middleware/conditional.ts).
    return show(c, emptyDraft, created);
  })
  .post("/tokens/:id/revoke", requireUser, async (c) => {
    await revokeOwnToken(c.var.services, viewerOf(c).user.id, c.req.param("id"));
    return redirectWithFlash(c, "Token revoked. It stops working within 10 seconds.", "/tokens");
  });

async function show(c: PageContext, draft: Draft, created?: CreatedToken) {
  const { services } = c.var;
  const { user, caller } = viewerOf(c);
  const list = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
  const [page, own] = await Promise.all([
    listTokens(services, user.id, list),
    listOwnModels(services, caller, { ...list, cursor: undefined, size: MAX_OWN_MODELS }),
  ]);
  const models = own.items.map(({ name }) => `${user.username}/${name}`);
  const content = (
    <TokensPage draft={draft} created={created} page={page} models={models} now={Date.now()} />
  );
  return c.render(content, { title: "Access tokens" });
}
