/** Pages for owners of models: /models/new, …/settings and …/delete. */
import { invalid } from "../../domain/schemas/validation.ts";
import { listCategories } from "../../services/models/categories.ts";
import {
  createModel,
  deleteModel,
  readOwnModel,
  updateModel,
} from "../../services/models/models.ts";
import { listHardware } from "../../services/runners/hardware.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { type Draft, emptyDraft, fieldText, handleForm } from "../form.ts";
import { NewModelPage, SettingsPage } from "./form.tsx";
import { readModelForm } from "./read-form.ts";
import { estimateOf } from "./run-estimate.ts";

/** All of them: saving the form would drop a value that is not among its choices. */
const MAX_CHOICES = 1_000;

async function formChoices(c: PageContext) {
  const first = { cursor: undefined, size: MAX_CHOICES, url: c.req.url };
  const [categories, hardware] = await Promise.all([
    listCategories(c.var.services, first),
    listHardware(c.var.services, first),
  ]);
  return { categories: categories.items, hardware: hardware.items };
}

/** @throws ProblemError not_found, forbidden */
const ownModel = (c: PageContext, owner: string, name: string) =>
  readOwnModel(c.var.services, viewerOf(c).caller, owner, name);

async function showNewModel(c: PageContext, draft: Draft) {
  return c.render(<NewModelPage draft={draft} {...(await formChoices(c))} />, {
    title: "New model",
  });
}

async function showSettings(
  c: PageContext,
  owner: string,
  name: string,
  drafts: { changes?: Draft; deletion?: Draft },
) {
  const [model, choices] = await Promise.all([ownModel(c, owner, name), formChoices(c)]);
  const { changes = emptyDraft, deletion = emptyDraft } = drafts;
  return c.render(
    <SettingsPage
      model={model}
      viewer={viewerOf(c)}
      estimate={await estimateOf(c, model)}
      changes={changes}
      deletion={deletion}
      {...choices}
    />,
    { title: `Settings of ${owner}/${name}` },
  );
}

export const ownModelPages = pages()
  .get("/models/new", requireUser, (c) => showNewModel(c, emptyDraft))
  .post("/models/new", requireUser, async (c) => {
    const { caller, user } = viewerOf(c);
    const sent = await handleForm(c, async (form) =>
      createModel(c.var.services, caller, readModelForm(form)),
    );
    if (sent.draft) {
      c.status(sent.status);
      return showNewModel(c, sent.draft);
    }
    const { name } = sent.done;
    return redirectWithFlash(
      c,
      `${name} created. Next, publish its first version.`,
      `/models/${user.username}/${name}`,
    );
  })
  .get("/models/:owner/:name/settings", requireUser, (c) => {
    const { owner, name } = c.req.param();
    return showSettings(c, owner, name, {});
  })
  .post("/models/:owner/:name/settings", requireUser, async (c) => {
    const { owner, name } = c.req.param();
    const sent = await handleForm(c, async (form) =>
      updateModel(c.var.services, viewerOf(c).caller, owner, name, readModelForm(form)),
    );
    if (sent.draft) {
      c.status(sent.status);
      return showSettings(c, owner, name, { changes: sent.draft });
    }
    return redirectWithFlash(c, "Model saved.", `/models/${owner}/${sent.done.name}/settings`);
  })
  .post("/models/:owner/:name/delete", requireUser, async (c) => {
    const { owner, name } = c.req.param();
    const { caller, user } = viewerOf(c);
    const sent = await handleForm(c, async (form) => {
      if (fieldText(form, "typed_name") !== name)
        throw invalid(["body", "typed_name"], `Type ${name} to confirm.`);
      await deleteModel(c.var.services, caller, owner, name);
    });
    if (sent.draft) {
      c.status(sent.status);
      return showSettings(c, owner, name, { deletion: sent.draft });
    }
    return redirectWithFlash(c, `${name} deleted.`, `/models/${user.username}`);
  });
