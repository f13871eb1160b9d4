/** `/models/{owner}/{name}/variables`: environment variables of a model's containers. */
import { oneSettable, setVariable as setBody, variableName } from "../../protocol/variable.ts";
import { parse } from "../../routes/router.ts";
import { readModel } from "../../services/models/models.ts";
import { deleteVariable, listVariables, setVariable } from "../../services/models/variables.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { type Draft, emptyDraft, fieldText, handleForm } from "../form.ts";
import { expectedOf } from "../models/expected.ts";
import { VariablesPage } from "./page.tsx";
import { rowsOf } from "./rows.ts";

/** The most that a model can have. */
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
    if (sent.draft) {
      c.status(sent.status);
      return show(c, sent.draft);
    }
    return redirectWithFlash(c, sent.done, c.req.path);
  })
  .post("/models/:owner/:name/variables/:variable/delete", requireUser, async (c) => {
    const { owner, name, variable } = c.req.param();
    const sent = await handleForm(c, () =>
      deleteVariable(c.var.services, viewerOf(c).caller, owner, name, variable),
    );
    if (sent.draft) {
      c.status(sent.status);
      return show(c, sent.draft);
    }
    return redirectWithFlash(
      c,
      `${variable} deleted. New predictions run without it.`,
      `/models/${owner}/${name}/variables`,
    );
  });

/** Versions never change: one that does not list the variable never gets it. */
function setMessage(name: string, { latest_version: version }: DetailedModelRow): string {
  if (version?.configuration.variable_names?.includes(name))
    return `${name} set. New predictions get it within 10 seconds.`;
  const reason = version
    ? `Version ${version.number} does not list it`
    : "No version is published yet";
  return `${name} set. ${reason}: publish one that lists it.`;
}

/** @throws ProblemError not_found, forbidden */
async function show(c: PageContext, draft: Draft) {
  const { services } = c.var;
  const viewer = viewerOf(c);
  const { owner = "", name = "" } = c.req.param();
  const all = { cursor: undefined, size: MAX_VARIABLES, url: c.req.url };
  const [model, { items }] = await Promise.all([
    readModel(services, viewer.caller, owner, name),
    listVariables(services, viewer.caller, owner, name, all),
  ]);
  const chosen = variableName.safeParse(c.req.query("name")).data ?? "";
  return c.render(
    <VariablesPage
      model={model}
      viewer={viewer}
      expected={await expectedOf(c, model)}
      rows={rowsOf(items, model.latest_version)}
      chosen={chosen}
      draft={draft}
    />,
    { title: `Variables of ${owner}/${name}` },
  );
}
