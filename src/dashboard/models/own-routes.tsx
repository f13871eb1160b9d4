/** Pages for owners of models: /models/new, …/settings and …/delete. */
import { invalid } from "../../domain/schemas/validation.ts";
import { DEFAULT_HARDWARE, type Hardware } from "../../protocol/hardware.ts";
import type { Category } from "../../protocol/model.ts";
import { setCollaborator as setCollaboratorBody } from "../../protocol/organization.ts";
import { parse } from "../../routes/router.ts";
import { listCategories } from "../../services/models/categories.ts";
import { removeCollaborator, setCollaborator } from "../../services/models/collaborators.ts";
import { createModel, deleteModel, updateModel } from "../../services/models/models.ts";
import { listAllHardware } from "../../services/runners/hardware.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { newModelAccess, requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, fieldText, handleForm, pickFields } from "../form.ts";
import { Choices, Select, Submit, TextArea, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import {
  isOwner,
  modelAddress,
  ownModelOf,
  referenceOf,
  renderModel,
} from "../ui/model-header.tsx";
import { LEVELS, sharingOf } from "./collaborators.tsx";
import { readModelForm, readTextsForm } from "./read-form.ts";

/** All of them: saving the form would drop a value that is not among its choices. */
const MAX_CHOICES = 1_000;

async function formChoices(c: PageContext) {
  const first = { cursor: undefined, size: MAX_CHOICES, url: c.req.url };
  const [categories, hardware] = await Promise.all([
    listCategories(c.var.services, first),
    listAllHardware(c.var.services),
  ]);
  return { categories: categories.items, hardware };
}

async function showNewModel(c: PageContext, draft: Draft) {
  const { account } = viewerOf(c);
  const page = <NewModelPage owner={account.username} draft={draft} {...(await formChoices(c))} />;
  return c.render(page, {
    title: "New model",
  });
}

/** The page has three forms; each has its own draft. */
async function showSettings(
  c: PageContext,
  { changes = emptyDraft, deletion = emptyDraft, sharing = emptyDraft }: SettingsDrafts,
) {
  const [model, choices] = await Promise.all([ownModelOf(c, "write"), formChoices(c)]);
  const isOwn = isOwner(model, c.var.viewer);
  const fields = isOwn ? <Fields model={model} {...choices} /> : <Texts model={model} />;
  return renderModel(
    c,
    { model, page: "/settings", title: `Settings of ${referenceOf(model)}` },
    <>
      <Form action={modelAddress(model, "/settings")} class="measure model-form" draft={changes}>
        {fields}
        <Submit>Save</Submit>
      </Form>
      {await sharingOf(c, model, sharing)}
      {isOwn && <Deletion model={model} draft={deletion} />}
    </>,
  );
}

interface SettingsDrafts {
  changes?: Draft;
  deletion?: Draft;
  sharing?: Draft;
}

export const ownModelPages = pages()
  .get("/models/new", newModelAccess, (c) => showNewModel(c, emptyDraft))
  .post("/models/new", newModelAccess, async (c) => {
    const { caller, account } = viewerOf(c);
    const sent = await handleForm(c, async (form) =>
      createModel(c.var.services, caller, readModelForm(form)),
    );
    if (sent.draft) return showNewModel(c, sent.draft);
    const { name } = sent.done;
    return redirectWithFlash(
      c,
      `${name} created. Next, publish its first version.`,
      `/models/${account.username}/${name}`,
    );
  })
  .get("/models/:owner/:name/settings", requireUser, (c) => showSettings(c, {}))
  .post("/models/:owner/:name/settings", requireUser, async (c) => {
    const { owner, name } = c.req.param();
    const sent = await handleForm(c, async (form) => {
      const changes = form.has("name") ? readModelForm(form) : readTextsForm(form);
      return updateModel(c.var.services, viewerOf(c).caller, owner, name, changes);
    });
    if (sent.draft) return showSettings(c, { changes: sent.draft });
    return redirectWithFlash(c, "Model saved.", `/models/${owner}/${sent.done.name}/settings`);
  })
  .post("/models/:owner/:name/collaborators", requireUser, async (c) => {
    const { owner, name } = c.req.param();
    const sent = await handleForm(c, async (form) => {
      const account = fieldText(form, "account").trim();
      const { level } = parse(setCollaboratorBody, pickFields(form, "level"), "body");
      const { caller } = viewerOf(c);
      await setCollaborator(c.var.services, caller, [owner, name], account, level);
      return `${account} can now ${LEVELS[level].can}.`;
    });
    if (sent.draft) return showSettings(c, { sharing: sent.draft });
    return redirectWithFlash(c, sent.done, `/models/${owner}/${name}/settings`);
  })
  .post("/models/:owner/:name/collaborators/:account/remove", requireUser, async (c) => {
    const { owner, name, account } = c.req.param();
    const viewer = viewerOf(c);
    await removeCollaborator(c.var.services, viewer.caller, [owner, name], account);
    return account === viewer.account.username
      ? redirectWithFlash(c, `You have left ${owner}/${name}.`, "/models/shared")
      : redirectWithFlash(c, `${account} was removed.`, `/models/${owner}/${name}/settings`);
  })
  .post("/models/:owner/:name/delete", requireUser, async (c) => {
    const { owner, name } = c.req.param();
    const { caller, account } = viewerOf(c);
    const sent = await handleForm(c, async (form) => {
      if (fieldText(form, "typed_name") !== name)
        throw invalid(["body", "typed_name"], `Type ${name} to confirm.`);
      await deleteModel(c.var.services, caller, owner, name);
    });
    if (sent.draft) return showSettings(c, { deletion: sent.draft });
    return redirectWithFlash(c, `${name} deleted.`, `/models/${account.username}`);
  });

interface FormChoices {
  categories: Category[];
  hardware: Hardware[];
}

const NewModelPage = ({
  owner,
  draft,
  ...offered
}: FormChoices & { owner: string; draft: Draft }) => (
  <>
    <h1>New model</h1>
    <p class="hint">
      It will belong to <strong>{owner}</strong>. Create the model first, then publish a version to
      run it.
    </p>
    <Form action="/models/new" class="measure model-form" draft={draft}>
      <Fields model={undefined} {...offered} />
      <Submit>Create model</Submit>
    </Form>
  </>
);

function Fields({
  model,
  categories,
  hardware,
}: FormChoices & { model: DetailedModelRow | undefined }) {
  return (
    <>
      <TextField
        name="name"
        label="Name"
        hint={
          model
            ? "Renaming breaks calls and links that use the old name: they get a 404. Running predictions continue."
            : "Part of the model's address. Lowercase letters and digits, separated by '.', '_' or '-'."
        }
        value={model?.name}
        required
        maxlength={63}
        autocomplete="off"
      />
      <Choices
        name="visibility"
        label="Visibility"
        values={[model?.visibility ?? "private"]}
        options={VISIBILITIES}
        one
      />
      <Descriptions model={model} />
      <Select
        name="hardware_identifier"
        label="Hardware"
        hint="Default for versions that do not set their own hardware."
        value={model?.hardware?.identifier ?? ""}
        options={[
          { value: "", label: `Default (${DEFAULT_HARDWARE})` },
          ...hardware.map(({ identifier, name }) => ({
            value: identifier,
            label: name === identifier ? name : `${name} (${identifier})`,
          })),
        ]}
      />
      {categories.length > 0 && (
        <Choices
          name="category_slugs"
          label="Categories"
          values={model?.categories.map(({ slug }) => slug) ?? []}
          options={categories.map(({ slug, name }) => ({ value: slug, label: name }))}
        />
      )}
      <Links model={model} />
    </>
  );
}

interface Described {
  model: DetailedModelRow | undefined;
}

/** The fields that collaborators change. */
const Texts = ({ model }: Described) => (
  <>
    <Descriptions model={model} />
    <Links model={model} />
  </>
);

const Descriptions = ({ model }: Described) => (
  <>
    <TextField
      name="description"
      label="Description"
      hint="What it does, in one sentence. Shown in lists and search results."
      value={model?.description}
      maxlength={1_000}
    />
    <TextArea
      name="overview"
      label="Overview"
      hint="What the model does and how to use it, in Markdown. To show an uploaded image, write ![Text](/v1/uploads/ID)."
      value={model?.overview}
      rows={12}
      maxlength={100_000}
    />
  </>
);

const Links = ({ model }: Described) => (
  <>
    <Link name="source_url" label="Source code" value={model?.source_url} />
    <Link name="license_url" label="License" value={model?.license_url} />
    <Link name="paper_url" label="Paper" value={model?.paper_url} />
    <Link
      name="cover_image_url"
      label="Cover image"
      hint="Shown if no example has a picture. PNG, JPEG, WebP, GIF or AVIF, up to 5 MiB."
      value={model?.cover_image_url}
    />
  </>
);

const VISIBILITIES = [
  {
    value: "private",
    label: "Private",
    hint: "Only its owner (you, or the members of the organization) and accounts it is shared with can see and run it.",
  },
  {
    value: "public",
    label: "Public",
    hint: "Anyone can see it, run it and download its image.",
  },
  {
    value: "restricted",
    label: "Restricted",
    hint: "Anyone can see and run it. Only its owner can download its image.",
  },
];

const Link = ({
  value,
  ...rest
}: {
  name: string;
  label: string;
  hint?: string;
  value: string | null | undefined;
}) => (
  <TextField {...rest} value={value ?? ""} type="url" placeholder="https://" maxlength={2_048} />
);

const Deletion = ({ model, draft }: { model: DetailedModelRow; draft: Draft }) => (
  <section class="panel measure danger-zone" aria-labelledby="delete">
    <h2 id="delete">Delete this model</h2>
    <p>
      This also deletes its versions. No one can run it anymore. Its predictions are kept. This
      can’t be undone.
    </p>
    <Form action={modelAddress(model, "/delete")} draft={draft}>
      <TextField
        name="typed_name"
        label={`Type ${model.name} to confirm`}
        required
        autocomplete="off"
      />
      <Submit kind="danger">Delete {model.name}</Submit>
    </Form>
  </section>
);
