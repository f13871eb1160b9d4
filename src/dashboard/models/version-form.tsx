/** The form that publishes a version. */
import type { Hardware } from "../../protocol/hardware.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import type { Draft } from "../form.ts";
import { Choices, Problem, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { COMPATIBILITIES } from "./compatibilities.ts";
import { ModelHeader, modelAddress } from "./header.tsx";
import { PublishCommand } from "./publish-command.tsx";
import { Runtime } from "./version-form-runtime.tsx";
import { Schemas } from "./version-form-schemas.tsx";

interface Props {
  model: DetailedModelRow;
  viewer: Viewer;
  hardware: Hardware[];
  draft: Draft;
  /** Scheme and host of the deployment. */
  origin: string;
  /** The repository prefix of images named by digest only. */
  images: string;
}

export function NewVersionPage({ model, viewer, hardware, draft, origin, images }: Props) {
  const repository = `${images}/${model.name}`;
  return (
    <>
      <ModelHeader model={model} viewer={viewer} page="/versions" />
      <h2>New version</h2>
      <p>
        A version is a container image with its input and output schemas. Versions never change: to
        fix one, publish the next.
        {model.latest_version && ` This form starts from version ${model.latest_version.number}.`}
      </p>
      <PublishCommand model={model} origin={origin} repository={repository} />
      <Form action={modelAddress(model, "/versions/new")} class="model-form">
        <Problem draft={draft} />
        <Image draft={draft} repository={repository} model={model} />
        <Schemas draft={draft} model={model} />
        <Runtime draft={draft} model={model} hardware={hardware} />
        <Submit>Publish version</Submit>
      </Form>
    </>
  );
}

interface PartProps {
  model: DetailedModelRow;
  draft: Draft;
}

const Image = ({ model, draft, repository }: PartProps & { repository: string }) => (
  <fieldset class="group">
    <legend>Image</legend>
    <TextField
      name="container_image_digest"
      label="Digest"
      hint="Digest of the pushed image, or of a model folder."
      draft={draft}
      required
      placeholder={`sha256:${"0".repeat(8)}…`}
      pattern="sha256:[a-f0-9]{64}"
      autocomplete="off"
    />
    <TextField
      name="image"
      label="Repository"
      hint={
        <>
          Leave empty for <code>{repository}</code>.
        </>
      }
      draft={draft}
      value={model.latest_version?.configuration.image}
      maxlength={255}
    />
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
      values={[model.latest_version?.configuration.interface ?? "cog"]}
      options={INTERFACES}
      one
    />
    <Choices
      name="compatibilities"
      label="Compatible APIs, in addition to the Auspex API"
      draft={draft}
      values={COMPATIBILITIES.filter(({ flag }) => model.latest_version?.compatibilities[flag]).map(
        ({ flag }) => flag,
      )}
      options={COMPATIBILITIES.map(({ flag, name }) => ({ value: flag, label: name }))}
    />
  </fieldset>
);

const INTERFACES = [
  { value: "cog", label: "Cog", hint: "Images built with Cog run unmodified." },
  {
    value: "vendora",
    label: "OpenAI-compatible server",
    hint: "vLLM, llama.cpp server, TGI, TEI and others.",
  },
];
