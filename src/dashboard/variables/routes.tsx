/** `/models/{owner}/{name}/variables`: environment variables of a model's containers. */

import type { Configuration } from "../../protocol/model.ts";
import {
  oneSettable,
  setVariable as setBody,
  type Variable,
  variableName,
} from "../../protocol/variable.ts";
import { parse } from "../../routes/router.ts";
import { readModel } from "../../services/models/models.ts";
import { deleteVariable, listVariables, setVariable } from "../../services/models/variables.ts";
import { type DetailedModelRow, defaultVersion } from "../../storage/models/models.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, fieldText, handleForm } from "../form.ts";
import { Submit, TextArea, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { modelAddress, modelOf, referenceOf, renderModel } from "../ui/model-header.tsx";
import { Empty, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

interface PageProps {
  model: DetailedModelRow;
  rows: VariableRow[];
  chosen: string;
  draft: Draft;
}

const VariablesPage = ({ model, rows, chosen, draft }: PageProps) => (
  <>
    {rows.length === 0 ? (
      <Empty title="No variables yet">
        <p>
          Store API keys and other secrets as environment variables. Set one below, then list it in
          your next <a href={modelAddress(model, "/versions/new")}>version</a> (in the API:{" "}
          <code>configuration.variable_names</code>).
        </p>
      </Empty>
    ) : (
      <>
        <p class="hint">
          Each version gets the variables it lists. Values are encrypted and can’t be viewed.
        </p>
        <Variables model={model} rows={rows} />
      </>
    )}
    <VariableForm model={model} chosen={chosen} draft={draft} />
  </>
);

const Variables = ({ model, rows }: Pick<PageProps, "model" | "rows">) => (
  <Table
    class="stacked"
    columns={["Name", "Last set", listedBy(model), { name: "Actions", is: "hidden" }]}
  >
    {rows.map((row) => (
      <Row model={model} row={row} />
    ))}
  </Table>
);

function listedBy(model: DetailedModelRow): string {
  const version = defaultVersion(model);
  return version ? `Version ${version.number}` : "Default version";
}

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
    <td data-label={listedBy(model)}>{listingText(model, listed, updated_at !== null)}</td>
    <td class="end">
      <div class="flow">
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
            data-confirm={`Delete ${name}? This can’t be undone. New predictions run without it.`}
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

function listingText(model: DetailedModelRow, listed: boolean, isSet: boolean): string {
  if (!defaultVersion(model)) return "no version";
  if (!listed) return "not listed";
  return isSet ? "listed" : "listed, but not set";
}

/** Values are never shown again, not even one that was just rejected. */
function VariableForm({ model, chosen, draft }: Omit<PageProps, "rows">) {
  return (
    <section class="measure" aria-labelledby="set-title">
      <h2 id="set-title">Set a variable</h2>
      <Form action={modelAddress(model, "/variables")} draft={draft}>
        <TextField
          name="variable_name"
          label="Name"
          hint="Uppercase letters, digits, and underscores, such as HF_TOKEN. Replaces an existing value."
          value={chosen}
          maxlength={100}
          pattern="[A-Z_][A-Z0-9_]*"
          title="Uppercase letters, digits and underscores, starting with a letter or underscore"
          autocomplete="off"
          required
        />
        <TextArea
          name="value"
          label="Value"
          hint="Up to 32,768 characters. Line breaks are allowed."
          class="mono"
          rows={3}
          maxlength={32_768}
          // Some browsers send spell-checked text to a service.
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          autofocus={chosen !== ""}
          required
          secret
        />
        <Submit>Set variable</Submit>
      </Form>
    </section>
  );
}

const MAX_VARIABLES = 100;

const form = setBody.extend(oneSettable.shape);

/** Forms submit line breaks as CRLF, which would corrupt a multi-line key. */
const readVariableForm = (sent: FormData) => ({
  variable_name: fieldText(sent, "variable_name").trim(),
  value: fieldText(sent, "value").replaceAll("\r\n", "\n"),
});

export const variablePages = pages()
  .get("/models/:owner/:name/variables", requireUser, (c) => show(c, emptyDraft))
  .post("/models/:owner/:name/variables", requireUser, async (c) => {
    const { owner, name } = c.req.param();
    const sent = await handleForm(c, async (values) => {
      const { variable_name, value } = parse(form, readVariableForm(values), "body");
      const variable = { name: variable_name, value };
      const { services } = c.var;
      const { caller } = viewerOf(c);
      const set = await setVariable(services, caller, owner, name, variable);
      return setMessage(set.name, await readModel(services, caller, owner, name));
    });
    if (sent.draft) return show(c, sent.draft);
    return redirectWithFlash(c, sent.done, c.req.path);
  })
  .post("/models/:owner/:name/variables/:variable/delete", requireUser, async (c) => {
    const { owner, name, variable } = c.req.param();
    const sent = await handleForm(c, () =>
      deleteVariable(c.var.services, viewerOf(c).caller, owner, name, variable),
    );
    if (sent.draft) return show(c, sent.draft);
    return redirectWithFlash(
      c,
      `${variable} deleted. New predictions run without it.`,
      `/models/${owner}/${name}/variables`,
    );
  });

/** Versions never change: one that does not list the variable never gets it. */
function setMessage(name: string, model: DetailedModelRow): string {
  const version = defaultVersion(model);
  if (version?.configuration.variable_names?.includes(name))
    return `${name} saved. New predictions get it within 10 seconds.`;
  return `${name} saved. Publish a version that lists it to apply it.`;
}

/** @throws ProblemError not_found, forbidden */
async function show(c: PageContext, draft: Draft) {
  const { services } = c.var;
  const { owner = "", name = "" } = c.req.param();
  const all = { cursor: undefined, size: MAX_VARIABLES, url: c.req.url };
  const [model, { items }] = await Promise.all([
    modelOf(c),
    listVariables(services, viewerOf(c).caller, owner, name, all),
  ]);
  const chosen = variableName.safeParse(c.req.query("name")).data ?? "";
  const rows = rowsOf(items, defaultVersion(model));
  return renderModel(
    c,
    { model, page: "/variables", title: `Variables of ${referenceOf(model)}` },
    <VariablesPage model={model} rows={rows} chosen={chosen} draft={draft} />,
  );
}

interface VariableRow {
  name: string;
  /** The time at which the variable was last set; null when it is not set. */
  updated_at: string | null;
  listed: boolean;
}

function rowsOf(
  variables: Variable[],
  version: { configuration: Configuration } | null,
): VariableRow[] {
  const listed = new Set(version?.configuration.variable_names);
  const names = new Set([...variables.map(({ name }) => name), ...listed]);
  const setAt = new Map(variables.map(({ name, updated_at }) => [name, updated_at]));
  return [...names]
    .sort()
    .map((name) => ({ name, updated_at: setAt.get(name) ?? null, listed: listed.has(name) }));
}
