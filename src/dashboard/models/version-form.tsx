/** The form that publishes a version. */
import type { Hardware } from "../../protocol/hardware.ts";
import { ownConfiguration } from "../../services/models/version-image.ts";
import type { Expected } from "../../services/runners/serving.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import type { Draft } from "../form.ts";
import { Choices, Problem, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { ModelHeader, modelAddress } from "./header.tsx";
import { PublishCommand } from "./publish-command.tsx";
import { type ImageChoices, ImageFields } from "./version-form-image.tsx";
import { Runtime } from "./version-form-runtime.tsx";
import { Schemas } from "./version-form-schemas.tsx";

interface Props {
  model: DetailedModelRow;
  viewer: Viewer;
  expected: Expected | undefined;
  hardware: Hardware[];
  draft: Draft;
  /** Scheme and host of the deployment. */
  origin: string;
  images: ImageChoices;
}

export function NewVersionPage(props: Props) {
  const { model, viewer, expected, hardware, draft, origin, images } = props;
  return (
    <>
      <ModelHeader model={model} viewer={viewer} page="/versions" expected={expected} />
      <h2>New version</h2>
      <p>
        A version is a container image with its input and output schemas. Versions never change: to
        fix one, publish the next.
        {model.latest_version && ` This form starts from version ${model.latest_version.number}.`}
      </p>
      <PublishCommand model={model} origin={origin} />
      <Form action={modelAddress(model, "/versions/new")} class="model-form">
        <Problem draft={draft} />
        <fieldset class="group">
          <legend>Image</legend>
          <ImageFields model={model} draft={draft} images={images} />
          <TextField
            name="release_notes"
            label="Release notes"
            hint="What is new, in one sentence."
            draft={draft}
            maxlength={255}
          />
          <Choices
            name="interface"
            label="Container interface"
            draft={draft}
            values={[ownConfiguration(model.latest_version).interface ?? ""]}
            options={INTERFACES}
            one
          />
        </fieldset>
        <Schemas draft={draft} model={model} />
        <Runtime draft={draft} model={model} hardware={hardware} />
        <Submit>Publish version</Submit>
      </Form>
    </>
  );
}

const INTERFACES = [
  {
    value: "",
    label: "Read from the image",
    hint: "Cog, unless its labels or its command say otherwise.",
  },
  { value: "cog", label: "Cog", hint: "Images built with Cog run unmodified." },
  {
    value: "vendora",
    label: "OpenAI-compatible server",
    hint: "vLLM, llama.cpp server, TGI, TEI and others.",
  },
];
