/** The form that publishes a version, and how to do without it. */
import type { Hardware } from "../../protocol/hardware.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import { type Draft, textOf } from "../form.ts";
import {
  Choices,
  described,
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
import { EGRESSES, egressOf } from "./egress.ts";
import { ModelHeader, modelAddress } from "./header.tsx";
import { ISOLATIONS, isolationOf } from "./isolation.ts";

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
        A version is one container image with what it takes and gives. It never changes: what is
        wrong with one is put right by the next.
        {model.latest_version && ` This begins as version ${model.latest_version.number} was.`}
      </p>
      <Shell model={model} origin={origin} repository={repository} />
      <Form action={modelAddress(model, "/versions/new")} class="model-form">
        <Problem draft={draft} />
        <Image draft={draft} repository={repository} model={model} />
        <Schemas draft={draft} model={model} />
        <Configuration draft={draft} model={model} hardware={hardware} />
        <Submit>Publish the version</Submit>
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
      hint="Of the image as it was pushed, or of a model folder."
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
          Nothing means <code>{repository}</code>.
        </>
      }
      draft={draft}
      value={model.latest_version?.configuration.image}
      maxlength={255}
    />
    <TextField
      name="release_notes"
      label="Notes"
      hint="What is new, in a sentence."
      draft={draft}
      maxlength={255}
    />
    <Choices
      name="interface"
      label="What its container speaks"
      draft={draft}
      values={[model.latest_version?.configuration.interface ?? "cog"]}
      options={INTERFACES}
      one
    />
    <Choices
      name="compatibilities"
      label="What clients may call it by, besides Auspex’s own API"
      draft={draft}
      values={COMPATIBILITIES.filter(({ flag }) => model.latest_version?.compatibilities[flag]).map(
        ({ flag }) => flag,
      )}
      options={COMPATIBILITIES.map(({ flag, name }) => ({ value: flag, label: name }))}
    />
  </fieldset>
);

const INTERFACES = [
  { value: "cog", label: "Cog", hint: "Images built with Cog run as they are." },
  {
    value: "vendora",
    label: "OpenAI’s convention",
    hint: "vLLM, llama.cpp server, TGI, TEI and their like.",
  },
];

const FIRST_INPUT = {
  type: "object",
  required: ["prompt"],
  properties: { prompt: { type: "string", description: "What to go on with" } },
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
        hint="A JSON Schema (2020-12). The playground makes its form of it. Cog images tell theirs at /openapi.json."
        draft={draft}
        value={JSON.stringify(input, null, 2)}
        rows={12}
        required
        class="code"
      />
      <TextArea
        name="output"
        label="Output"
        hint="A JSON Schema, too; {} is whatever it may be."
        draft={draft}
        value={JSON.stringify(output, null, 2)}
        rows={4}
        required
        class="code"
      />
      <TextArea
        name="components"
        label="Components"
        hint="What both refer to by #/components/schemas/…: components of the image’s /openapi.json, as they are there. Most need none."
        draft={draft}
        value={components && JSON.stringify(components, null, 2)}
        rows={4}
        class="code"
      />
      <Choices
        name="stream_output"
        label="How output comes"
        draft={draft}
        values={stream_output ? ["true"] : []}
        options={[{ value: "true", label: "In parts, as they are made" }]}
      />
    </fieldset>
  );
}

function Configuration({ model, draft, hardware }: Part & Pick<Props, "hardware">) {
  const configuration = model.latest_version?.configuration;
  return (
    <fieldset class="group">
      <legend>How it runs</legend>
      <Select
        name="hardware_identifier"
        label="Hardware"
        draft={draft}
        value={configuration?.hardware_identifier ?? ""}
        options={[
          { value: "", label: "What the model says" },
          ...hardware.map(({ identifier, name }) => ({
            value: identifier,
            label: name === identifier ? name : `${name} (${identifier})`,
          })),
        ]}
      />
      <TextField
        name="timeout_seconds"
        label="Longest run, seconds"
        hint="From the container being ready; 1,800 when nothing is said."
        draft={draft}
        value={numberText(configuration?.timeout_seconds)}
        type="number"
        min="1"
        max="86400"
      />
      <Choices
        name="isolation"
        label="What a run shares its container with"
        draft={draft}
        values={[isolationOf(configuration ?? {})]}
        options={[...ISOLATIONS]}
        one
      />
      <Egress draft={draft} {...egressOf(configuration ?? {})} />
      <TextField
        name="max_concurrency"
        label="Runs at a time in one container"
        hint="1 when nothing is said, and 32 for OpenAI’s convention."
        draft={draft}
        value={numberText(configuration?.max_concurrency)}
        type="number"
        min="1"
        max="1000"
      />
      <TextField
        name="idle_seconds"
        label="How long a container without work is kept, seconds"
        hint="300 when nothing is said."
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
            Names of the model’s <a href={modelAddress(model, "/variables")}>variables</a> that its
            containers get, one on each line.
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
      label="What its containers reach"
      draft={draft}
      values={[choice]}
      options={[...EGRESSES]}
      one
    />
    <div class="some-hosts">
      <Hosts draft={draft} hosts={hosts} />
    </div>
  </>
);

/** Not required as the browser means it: it is asked for while it is not there, too. */
function Hosts({ draft, hosts }: Pick<Part, "draft"> & { hosts: string }) {
  const about = {
    name: "egress_hosts",
    hint: "One on each line, as in huggingface.co or *.hf.co.",
    draft,
  };
  return (
    <Field {...about} label="Hosts" required>
      <textarea {...described(about.name, about.hint, draft)} rows={3} class="code">
        {/* The parser drops one line break at the beginning. */}
        {`\n${draft.values ? textOf(draft.values, about.name) : hosts}`}
      </textarea>
    </Field>
  );
}

const numberText = (count: number | undefined) => (count === undefined ? "" : String(count));

const Shell = ({
  model,
  origin,
  repository,
}: {
  model: DetailedModelRow;
  origin: string;
  repository: string;
}) => (
  <details class="shell">
    <summary>From the command line instead</summary>
    <p>
      Push the image, and publish it by its digest, with an <a href="/tokens">access token</a> that
      may write in <code>AUSPEX_TOKEN</code>:
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
      All fields are in the <a href="/docs#createVersion">API reference</a>. Without{" "}
      <code>configuration</code> a version inherits that of the one before it.
    </p>
  </details>
);
