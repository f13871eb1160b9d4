/** The forms that make a model and change it. */
import type { Category } from "../../protocol/category.ts";
import type { Hardware } from "../../protocol/hardware.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import type { Draft } from "../form.ts";
import { Choices, Problem, Select, Submit, TextArea, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { ModelHeader, modelAddress } from "./header.tsx";

/** What a model may name. */
interface Offered {
  categories: Category[];
  hardware: Hardware[];
}

export const NewModelPage = ({ draft, ...offered }: Offered & { draft: Draft }) => (
  <>
    <h1>New model</h1>
    <p class="hint">
      A name and a page. What runs are its versions: the next step is to publish one.
    </p>
    <Form action="/models/new" class="model-form">
      <Problem draft={draft} />
      <Fields draft={draft} model={undefined} {...offered} />
      <Submit>Create the model</Submit>
    </Form>
  </>
);

/** Of the two forms on the page one was sent: what was typed, and what is wrong with it, is of that one. */
export const SettingsPage = ({
  model,
  viewer,
  changes,
  deletion,
  ...offered
}: Offered & {
  model: DetailedModelRow;
  viewer: Viewer;
  changes: Draft;
  deletion: Draft;
}) => (
  <>
    <ModelHeader model={model} viewer={viewer} page="/settings" />
    <Form action={modelAddress(model, "/settings")} class="model-form">
      <Problem draft={changes} />
      <Fields draft={changes} model={model} {...offered} />
      <Submit>Save</Submit>
    </Form>
    <Deletion model={model} draft={deletion} />
  </>
);

function Fields({
  draft,
  model,
  categories,
  hardware,
}: Offered & { draft: Draft; model: DetailedModelRow | undefined }) {
  return (
    <>
      <TextField
        name="name"
        label="Name"
        hint={
          model
            ? "Renamed, it is found by its new name alone: calls and links with the old one get a 404. What runs goes on."
            : "Lower-case letters and digits, with '.', '_' or '-' between them: it is part of the address."
        }
        draft={draft}
        value={model?.name}
        required
        maxlength={63}
        autocomplete="off"
      />
      <Choices
        name="visibility"
        label="Who may see it"
        draft={draft}
        values={[model?.visibility ?? "private"]}
        options={VISIBILITIES}
        one
      />
      <TextField
        name="description"
        label="Description"
        hint="What it does, in a sentence: lists and searches show it."
        draft={draft}
        value={model?.description}
        maxlength={1_000}
      />
      <TextArea
        name="overview"
        label="Overview"
        hint="Its page, in Markdown: what it is good for, what its limits are, examples. Pictures are shown as links."
        draft={draft}
        value={model?.overview}
        rows={12}
        maxlength={100_000}
      />
      <Select
        name="hardware_identifier"
        label="Hardware"
        hint="What its versions run on that do not say."
        draft={draft}
        value={model?.hardware?.identifier ?? ""}
        options={[
          { value: "", label: `Not said: ${DEFAULT_HARDWARE}` },
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
          draft={draft}
          values={model?.categories.map(({ slug }) => slug) ?? []}
          options={categories.map(({ slug, name }) => ({ value: slug, label: name }))}
        />
      )}
      <Link name="source_url" label="Source code" draft={draft} value={model?.source_url} />
      <Link name="license_url" label="Licence" draft={draft} value={model?.license_url} />
      <Link name="paper_url" label="Paper" draft={draft} value={model?.paper_url} />
      <Link
        name="cover_image_url"
        label="Cover picture"
        hint="For clients of the API: these pages ask no other host for anything, and do not show it."
        draft={draft}
        value={model?.cover_image_url}
      />
    </>
  );
}

const VISIBILITIES = [
  {
    value: "private",
    label: "Private",
    hint: "There for you alone. For everybody else it does not exist.",
  },
  {
    value: "public",
    label: "Public",
    hint: "Everybody sees it, may run it, and may download its image.",
  },
  {
    value: "restricted",
    label: "Restricted",
    hint: "Everybody sees it and may run it; its image stays yours.",
  },
];

const Link = ({
  value,
  hint = "",
  ...rest
}: {
  name: string;
  label: string;
  hint?: string;
  draft: Draft;
  value: string | null | undefined;
}) => (
  <TextField
    {...rest}
    hint={hint}
    value={value ?? ""}
    type="url"
    placeholder="https://"
    maxlength={2_048}
  />
);

const Deletion = ({ model, draft }: { model: DetailedModelRow; draft: Draft }) => (
  <section class="danger-zone" aria-labelledby="delete">
    <h2 id="delete">Delete this model</h2>
    <p>
      All its versions go with it, and nobody can run it any more. Its predictions stay. It cannot
      be brought back.
    </p>
    <Form action={modelAddress(model, "/delete")}>
      <Problem draft={draft} />
      <TextField
        name="typed_name"
        label={`Its name, ${model.name}, to show that you mean it`}
        draft={draft}
        required
        autocomplete="off"
      />
      <Submit kind="danger">Delete {model.name}</Submit>
    </Form>
  </section>
);
