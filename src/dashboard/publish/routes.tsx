/** `/models/publish` and `…/publish` of a model: the ways to publish, with a token made in place. */
import { createOrganizationToken as createTokenBody } from "../../protocol/organization.ts";
import { createOrganizationToken } from "../../services/accounts/organization-tokens.ts";
import { createToken } from "../../services/accounts/tokens.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { newModelAccess, requireUser, viewerOf } from "../access.ts";
import { isPersonal, type PageContext, pages } from "../context.ts";
import { type Draft, handleForm } from "../form.ts";
import { modelAddress, ownModelOf, referenceOf, renderModel } from "../ui/model-header.tsx";
import { PublishWays, publishState } from "./ways.tsx";

/** Lifetime of the token, the default of tokens/new-token.tsx. */
const TOKEN_MS = 90 * 86_400_000;

export const publishPages = pages()
  .get("/models/publish", newModelAccess, (c) => showPublish(c))
  .post("/models/publish", newModelAccess, (c) => makeToken(c, undefined))
  .get("/models/:owner/:name/publish", requireUser, async (c) =>
    showPublish(c, await ownModelOf(c, "write")),
  )
  .post("/models/:owner/:name/publish", requireUser, async (c) =>
    makeToken(c, await ownModelOf(c, "write")),
  );

/** Shown only in this response, which is never cached (middleware/conditional.ts). */
async function makeToken(c: PageContext, model: DetailedModelRow | undefined) {
  const viewer = viewerOf(c);
  const { services } = c.var;
  const request = createTokenBody.parse({
    name: model ? `Publishing ${model.name}` : "Publishing",
    expires_at: new Date(Date.now() + TOKEN_MS).toISOString(),
  });
  const sent = await handleForm(c, () =>
    isPersonal(viewer)
      ? createToken(services, viewer.user.id, request)
      : createOrganizationToken(services, viewer.caller, viewer.account.username, request),
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
          It will belong to <strong>{state.names.username}</strong>. Publishing creates a version,
          and a private model if it does not exist yet. You can also{" "}
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
