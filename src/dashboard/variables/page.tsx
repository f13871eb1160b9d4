/** The variables of a model, whether its latest version lists them, and a form to set one. */
import type { Expected } from "../../services/runners/serving.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import type { Draft } from "../form.ts";
import { ModelHeader, modelAddress } from "../models/header.tsx";
import { controlAttributes, Field, Problem, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Empty, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import type { VariableRow } from "./rows.ts";

interface PageProps {
  model: DetailedModelRow;
  viewer: Viewer;
  expected: Expected | undefined;
  rows: VariableRow[];
  /** The name to prefill in the form, or empty. */
  chosen: string;
  draft: Draft;
}

export const VariablesPage = ({ model, viewer, expected, rows, chosen, draft }: PageProps) => (
  <>
    <ModelHeader model={model} viewer={viewer} page="/variables" expected={expected} />
    {rows.length === 0 ? (
      <Empty title="No variables yet">
        <p>
          Variables hold keys and tokens that the containers of this model need in their
          environment. Set one below, then list it in the next{" "}
          <a href={modelAddress(model, "/versions/new")}>version</a> (in the API:{" "}
          <code>configuration.variable_names</code>). A version gets only the variables it lists.
        </p>
      </Empty>
    ) : (
      <>
        <p class="hint">
          Containers get the variables that their version lists, in their environment. Values are
          encrypted and never shown again.
        </p>
        <Variables model={model} rows={rows} />
      </>
    )}
    <VariableForm model={model} chosen={chosen} draft={draft} />
  </>
);

const Variables = ({ model, rows }: Pick<PageProps, "model" | "rows">) => (
  <Table
    class="variables stacked"
    columns={[
      "Name",
      "Last set",
      model.latest_version ? `Version ${model.latest_version.number}` : "Latest version",
      { name: "Actions", is: "hidden" },
    ]}
  >
    {rows.map((row) => (
      <Row model={model} row={row} />
    ))}
  </Table>
);

const Row = ({
  model,
  row: { name, updated_at, listed },
}: {
  model: DetailedModelRow;
  row: VariableRow;
}) => (
  <tr>
    <th scope="row">
      <code>{name}</code>
    </th>
    <td data-label="Last set">
      {updated_at === null ? <span class="status warning">not set</span> : <Time at={updated_at} />}
    </td>
    <td data-label="Latest version">{listingText(model, listed, updated_at !== null)}</td>
    <td class="end">
      <div class="row-actions">
        <a
          class="button quiet"
          href={`${modelAddress(model, "/variables")}?name=${name}`}
          aria-label={updated_at === null ? `Set ${name}` : `Change ${name}`}
        >
          {updated_at === null ? "Set" : "Change"}
        </a>
        {updated_at !== null && (
          <Form
            action={modelAddress(model, `/variables/${name}/delete`)}
            data-confirm={`Delete ${name}? Its value cannot be recovered, and new predictions run without it.`}
          >
            <button type="submit" class="danger" aria-label={`Delete ${name}`}>
              Delete
            </button>
          </Form>
        )}
      </div>
    </td>
  </tr>
);

function listingText(
  { latest_version }: DetailedModelRow,
  listed: boolean,
  isSet: boolean,
): string {
  if (!latest_version) return "none published";
  if (!listed) return "not listed";
  return isSet ? "listed" : "listed, but not set";
}

/** Values are never shown again, not even one that was just rejected. */
function VariableForm({ model, chosen, draft }: Omit<PageProps, "rows" | "viewer" | "expected">) {
  const hint = "Up to 32,768 characters. Can span several lines.";
  return (
    <section class="set-variable" aria-labelledby="set-title">
      <h2 id="set-title">Set a variable</h2>
      <Form action={modelAddress(model, "/variables")}>
        <Problem draft={draft} />
        <TextField
          name="variable_name"
          label="Name"
          hint="Uppercase letters, digits and '_', as in HF_TOKEN. Setting an existing variable replaces its value."
          value={chosen}
          maxlength={100}
          pattern="[A-Z_][A-Z0-9_]*"
          title="Uppercase letters, digits and _, not beginning with a digit"
          autocomplete="off"
          required
          draft={draft}
        />
        <Field name="value" label="Value" hint={hint} draft={draft} required>
          <textarea
            {...controlAttributes("value", hint, draft)}
            class="code"
            rows={3}
            maxlength={32_768}
            // Some browsers send spell-checked text to a service.
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            autofocus={chosen !== ""}
            required
          />
        </Field>
        <Submit>Set variable</Submit>
      </Form>
    </section>
  );
}
