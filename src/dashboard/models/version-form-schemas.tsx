/** The input and output schemas of the version form. */
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Draft } from "../form.ts";
import { Choices, TextArea } from "../ui/fields.tsx";

interface Props {
  model: DetailedModelRow;
  draft: Draft;
}

const FIRST_INPUT = {
  type: "object",
  required: ["prompt"],
  properties: { prompt: { type: "string", description: "Text to continue" } },
};

export function Schemas({ model, draft }: Props) {
  const components = model.latest_version?.schemas.components;
  const { input, output, stream_output } = model.latest_version?.schemas.prediction ?? {
    input: FIRST_INPUT,
    output: { type: "string" },
    stream_output: false,
  };
  return (
    <fieldset class="group">
      <legend>Input and output</legend>
      <TextArea
        name="input"
        label="Input"
        hint="JSON Schema (2020-12). The playground builds its form from it. Cog images serve theirs at /openapi.json."
        draft={draft}
        value={JSON.stringify(input, null, 2)}
        rows={12}
        required
        class="code"
      />
      <TextArea
        name="output"
        label="Output"
        hint="JSON Schema. {} accepts any output."
        draft={draft}
        value={JSON.stringify(output, null, 2)}
        rows={4}
        required
        class="code"
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
    </fieldset>
  );
}
