/** Schemas of a version in the version form: read from its image, or given. */
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { type Draft, fieldText } from "../form.ts";
import { Choices, controlAttributes, Field, TextArea } from "../ui/fields.tsx";
import { COMPATIBILITIES } from "./compatibilities.ts";
import { isLatestElsewhere } from "./version-form-image.tsx";

interface Props {
  model: DetailedModelRow;
  draft: Draft;
}

const FIRST_INPUT = {
  type: "object",
  required: ["prompt"],
  properties: { prompt: { type: "string", description: "Text to continue" } },
};

/** Schemas that were read from an image are not handed on: the next version has an image of its own. */
export function Schemas({ model, draft }: Props) {
  const components = model.latest_version?.schemas.components;
  const { input, output, stream_output } = model.latest_version?.schemas.prediction ?? {
    input: FIRST_INPUT,
    output: { type: "string" },
    stream_output: false,
  };
  const wasGiven = isLatestElsewhere(model);
  return (
    <fieldset class="box group">
      <legend>Input and output</legend>
      <Choices
        name="schemas_from"
        label="Schemas"
        draft={draft}
        values={[wasGiven ? "form" : "image"]}
        options={SOURCES}
        one
      />
      <div class="schemas-fields">
        <Schema
          name="input"
          label="Input"
          hint="JSON Schema (2020-12). The playground builds its form from it. Cog images serve theirs at /openapi.json."
          draft={draft}
          value={JSON.stringify(input, null, 2)}
          rows={12}
        />
        <Schema
          name="output"
          label="Output"
          hint="JSON Schema. {} accepts any output."
          draft={draft}
          value={JSON.stringify(output, null, 2)}
          rows={4}
        />
        <TextArea
          name="components"
          label="Components"
          hint="What both refer to with #/components/schemas/…: components of the image’s /openapi.json, verbatim. Most versions need none."
          draft={draft}
          value={components && JSON.stringify(components, null, 2)}
          rows={4}
          class="code"
        />
        <Choices
          name="stream_output"
          label="Streaming"
          draft={draft}
          values={stream_output ? ["true"] : []}
          options={[{ value: "true", label: "Output is streamed in parts" }]}
        />
      </div>
      <Choices
        name="compatibilities"
        label="Compatible APIs, in addition to the Auspex API"
        hint="If you tick none, they are read from the image."
        draft={draft}
        values={COMPATIBILITIES.filter(
          ({ flag }) => wasGiven && model.latest_version?.compatibilities[flag],
        ).map(({ flag }) => flag)}
        options={COMPATIBILITIES.map(({ flag, name }) => ({ value: flag, label: name }))}
      />
    </fieldset>
  );
}

const SOURCES = [
  {
    value: "image",
    label: "Read from the image",
    hint: "From the labels of Cog. If it has none, the first start tells them.",
  },
  { value: "form", label: "Given here", hint: "Needed for an image in another registry." },
];

/** The field has no `required` attribute: browsers would enforce it while the field is hidden. */
function Schema({
  value,
  rows,
  ...about
}: {
  name: string;
  label: string;
  hint: string;
  draft: Draft;
  value: string;
  rows: number;
}) {
  const { name, hint, draft } = about;
  return (
    <Field {...about} required>
      <textarea {...controlAttributes(name, hint, draft)} rows={rows} class="code">
        {/* The HTML parser drops a leading line break. */}
        {`\n${draft.values?.has(name) ? fieldText(draft.values, name) : value}`}
      </textarea>
    </Field>
  );
}
