/** The form that publishes a version, and how to do without it. */
import type { Hardware } from "../../protocol/hardware.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import { type Draft, fieldText } from "../form.ts";
import {
  Choices,
  controlAttributes,
  Field,
  Problem,
  Select,
  Submit,
  TextArea,
  TextField,
} from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy } from "../ui/parts.tsx";
import { COMPATIBILITIES } from "./compatibilities.ts";
import { EGRESS_CHOICES, egressOf } from "./egress.ts";
import { ModelHeader, modelAddress } from "./header.tsx";
import { ISOLATION_CHOICES, isolationOf } from "./isolation.ts";

interface Props {
  model: DetailedModelRow;
  viewer: Viewer;
  hardware: Hardware[];
  draft: Draft;
  /** Scheme and host of the deployment. */
  origin: string;
  /** Below which images are that a version names by digest alone. */
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
        <Configuration draft={draft} model={model} hardware={hardware} />
        <Submit>Publish version</Submit>
      </Form>
    </>
  );
}

interface Part {
  model: DetailedModelRow;
  draft: Draft;
}

const Image = ({ model, draft, repository }: Part & { repository: string }) => (
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

const FIRST_INPUT = {
  type: "object",
  required: ["prompt"],
  properties: { prompt: { type: "string", description: "Text to continue" } },
};

function Schemas({ model, draft }: Part) {
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

function Configuration({ model, draft, hardware }: Part & Pick<Props, "hardware">) {
  const configuration = model.latest_version?.configuration;
  return (
    <fieldset class="group">
      <legend>Runtime</legend>
      <Select
        name="hardware_identifier"
        label="Hardware"
        draft={draft}
        value={configuration?.hardware_identifier ?? ""}
        options={[
          { value: "", label: "Same as the model" },
          ...hardware.map(({ identifier, name }) => ({
            value: identifier,
            label: name === identifier ? name : `${name} (${identifier})`,
          })),
        ]}
      />
      <TextField
        name="timeout_seconds"
        label="Timeout, seconds"
        hint="Counted from when the container is ready. Defaults to 1,800."
        draft={draft}
        value={numberText(configuration?.timeout_seconds)}
        type="number"
        min="1"
        max="86400"
      />
      <Choices
        name="isolation"
        label="Container sharing"
        draft={draft}
        values={[isolationOf(configuration ?? {})]}
        options={[...ISOLATION_CHOICES]}
        one
      />
      <Egress draft={draft} {...egressOf(configuration ?? {})} />
      <TextField
        name="max_concurrency"
        label="Concurrent predictions per container"
        hint="Defaults to 1, or to 32 for OpenAI-compatible servers."
        draft={draft}
        value={numberText(configuration?.max_concurrency)}
        type="number"
        min="1"
        max="1000"
      />
      <TextField
        name="idle_seconds"
        label="Idle time before a container stops, seconds"
        hint="Defaults to 300."
        draft={draft}
        value={numberText(configuration?.idle_seconds)}
        type="number"
        min="0"
        max="86400"
      />
      <TextArea
        name="variable_names"
        label="Variables"
        hint={
          <>
            Names of the model’s <a href={modelAddress(model, "/variables")}>variables</a> that
            containers get, one per line.
          </>
        }
        draft={draft}
        value={configuration?.variable_names?.join("\n")}
        rows={3}
        class="code"
      />
    </fieldset>
  );
}

const Egress = ({ draft, choice, hosts }: Pick<Part, "draft"> & ReturnType<typeof egressOf>) => (
  <>
    <Choices
      name="egress"
      label="Network access"
      draft={draft}
      values={[choice]}
      options={[...EGRESS_CHOICES]}
      one
    />
    <div class="hosts-field">
      <Hosts draft={draft} hosts={hosts} />
    </div>
  </>
);

/** Not required as the browser means it: it is asked for while it is not there, too. */
function Hosts({ draft, hosts }: Pick<Part, "draft"> & { hosts: string }) {
  const about = {
    name: "egress_hosts",
    hint: "One per line, as in huggingface.co or *.hf.co.",
    draft,
  };
  return (
    <Field {...about} label="Hosts" required>
      <textarea {...controlAttributes(about.name, about.hint, draft)} rows={3} class="code">
        {/* The parser drops one line break at the beginning. */}
        {`\n${draft.values ? fieldText(draft.values, about.name) : hosts}`}
      </textarea>
    </Field>
  );
}

const numberText = (count: number | undefined) => (count === undefined ? "" : String(count));

const PublishCommand = ({
  model,
  origin,
  repository,
}: {
  model: DetailedModelRow;
  origin: string;
  repository: string;
}) => (
  <details class="publish-command">
    <summary>Publish from the command line</summary>
    <p>
      Push the image, then publish its digest. <code>AUSPEX_TOKEN</code> must hold an{" "}
      <a href="/tokens">access token</a> with the <code>write</code> scope:
    </p>
    <Copy
      lines
      text={`cog push ${repository}
digest=$(docker inspect --format '{{index .RepoDigests 0}}' ${repository} | cut -d @ -f 2)
curl ${origin}/v1${modelAddress(model, "/versions")} \\
  -H "Authorization: Bearer $AUSPEX_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d @- <<END
{
  "release_notes": "What is new",
  "container_image_digest": "$digest",
  "schemas": {"prediction": {"input": {"type": "object"}, "output": {}}}
}
END`}
    />
    <p class="hint">
      See the <a href="/docs#createVersion">API reference</a> for all fields. Without{" "}
      <code>configuration</code>, a version inherits the previous one’s.
    </p>
  </details>
);
