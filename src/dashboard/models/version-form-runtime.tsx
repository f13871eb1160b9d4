/** The runtime settings of the version form. */
import type { Hardware } from "../../protocol/hardware.ts";
import { ownConfiguration } from "../../services/models/version-image.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { type Draft, fieldText } from "../form.ts";
import { Choices, controlAttributes, Field, Select, TextArea, TextField } from "../ui/fields.tsx";
import { EGRESS_CHOICES, egressOf } from "./egress.ts";
import { modelAddress } from "./header.tsx";
import { ISOLATION_CHOICES, isolationOf } from "./isolation.ts";
import { weightLines } from "./weights.ts";

interface Props {
  model: DetailedModelRow;
  draft: Draft;
}

export function Runtime({ model, draft, hardware }: Props & { hardware: Hardware[] }) {
  const configuration = ownConfiguration(model.latest_version);
  return (
    <fieldset class="box group">
      <legend>Runtime</legend>
      <Select
        name="hardware_identifier"
        label="Hardware"
        draft={draft}
        value={configuration.hardware_identifier ?? ""}
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
        value={numberText(configuration.timeout_seconds)}
        type="number"
        min="1"
        max="86400"
      />
      <Choices
        name="isolation"
        label="Container sharing"
        draft={draft}
        values={[isolationOf(configuration)]}
        options={[...ISOLATION_CHOICES]}
        one
      />
      <Egress draft={draft} {...egressOf(configuration)} />
      <TextField
        name="max_concurrency"
        label="Concurrent predictions per container"
        hint="Read from Cog’s labels. Otherwise 1, or 32 for OpenAI-compatible servers."
        draft={draft}
        value={numberText(configuration.max_concurrency)}
        type="number"
        min="1"
        max="1000"
      />
      <TextField
        name="idle_seconds"
        label="Idle time before a container stops, seconds"
        hint="Defaults to 300."
        draft={draft}
        value={numberText(configuration.idle_seconds)}
        type="number"
        min="0"
        max="86400"
      />
      <TextField
        name="listen_timeout_seconds"
        label="Listen timeout, seconds"
        hint="How long a starting container may refuse connections before it fails."
        draft={draft}
        value={numberText(configuration.listen_timeout_seconds)}
        type="number"
        min="1"
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
        value={configuration.variable_names?.join("\n")}
        rows={3}
        class="code"
      />
      <TextArea
        name="weights"
        label="Weights"
        hint={
          <>
            Files that are{" "}
            <a href="/docs/models#weights-that-are-not-in-the-image">not in the image</a>, one per
            line: the path in the container, then the ID or URL of your upload.
          </>
        }
        draft={draft}
        value={weightLines(configuration)}
        rows={3}
        class="code"
      />
    </fieldset>
  );
}

const Egress = ({ draft, choice, hosts }: { draft: Draft } & ReturnType<typeof egressOf>) => (
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

/** The field has no `required` attribute: browsers would enforce it while the field is hidden. */
function Hosts({ draft, hosts }: { draft: Draft } & { hosts: string }) {
  const about = {
    name: "egress_hosts",
    hint: "One per line, as in huggingface.co or *.hf.co.",
    draft,
  };
  return (
    <Field {...about} label="Hosts" required>
      <textarea {...controlAttributes(about.name, about.hint, draft)} rows={3} class="code">
        {/* The HTML parser drops a leading line break. */}
        {`\n${draft.values ? fieldText(draft.values, about.name) : hosts}`}
      </textarea>
    </Field>
  );
}

const numberText = (count: number | undefined) => (count === undefined ? "" : String(count));
