/** `/models/publish` and `…/publish` of a model: the ways to publish, with a token made in place. */
import { createToken as createTokenBody } from "../../protocol/operator.ts";
import { createToken } from "../../services/accounts/tokens.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { type Draft, handleForm } from "../form.ts";
import { modelAddress, ownModelOf, referenceOf, renderModel } from "../ui/model-header.tsx";
import { PublishWays, publishState } from "./ways.tsx";

/** Lifetime of the token, the default of tokens/new-token.tsx. */
const TOKEN_MS = 90 * 86_400_000;

export const publishPages = pages()
  .get("/models/publish", requireUser, (c) => showPublish(c))
  .post("/models/publish", requireUser, (c) => makeToken(c, undefined))
  .get("/models/:owner/:name/publish", requireUser, async (c) =>
    showPublish(c, await ownModelOf(c)),
  )
  .post("/models/:owner/:name/publish", requireUser, async (c) =>
    makeToken(c, await ownModelOf(c)),
  );

/** Shown only in this response, which is never cached (middleware/conditional.ts). */
async function makeToken(c: PageContext, model: DetailedModelRow | undefined) {
  const { user } = viewerOf(c);
  const sent = await handleForm(c, () =>
    createToken(
      c.var.services,
      user.id,
      createTokenBody.parse({
        name: model ? `Publishing ${model.name}` : "Publishing",
        scopes: ["read", "write", "predict"],
        expires_at: new Date(Date.now() + TOKEN_MS).toISOString(),
      }),
    ),
  );
  if (!sent.draft) return showPublish(c, model, { token: sent.done.token });
  return showPublish(c, model, { draft: sent.draft });
}

async function showPublish(
  c: PageContext,
  model?: DetailedModelRow,
  made: { token?: string; draft?: Draft } = {},
) {
  const state = await publishState(c, model, made);
  if (!model) {
    return c.render(
      <>
        <h1>Publish a model</h1>
        <p>
          Publishing creates a version, and a private model if it does not exist yet. You can also{" "}
          <a href="/models/new">create the model</a> first.
        </p>
        <PublishWays state={state} />
      </>,
      { title: "Publish a model" },
    );
  }
  return renderModel(
    c,
    { model, page: "/versions", title: `Publish ${referenceOf(model)}` },
    <>
      <h2>{state.names.isFirst ? "Publish the first version" : "Publish a version"}</h2>
      <p>
        Already pushed an image? <a href={modelAddress(model, "/versions/new")}>Create a version</a>
        .
      </p>
      <PublishWays state={state} level={3} />
    </>,
  );
}
