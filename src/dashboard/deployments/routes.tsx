/** `/account/deployments`: the deployments of an account. */
import { z } from "zod";
import { hasRole } from "../../domain/accounts/access.ts";
import {
  type ChangedDeployment,
  createDeployment,
  updateDeployment,
} from "../../protocol/deployment.ts";
import { parse } from "../../routes/router.ts";
import * as changes from "../../services/deployments/changes.ts";
import {
  deleteDeployment,
  listDeployments,
  listReleases,
  type Place,
  readDeployment,
} from "../../services/deployments/deployments.ts";
import { presentDeployment, presentDeployments } from "../../services/deployments/present.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, handleForm, pickFields, readForm } from "../form.ts";
import { DeploymentPage, DeploymentsPage, LIST } from "./page.tsx";

const PAGE = 50;
const ONE = `${LIST}/:name`;
const NUMBERS = ["version", "min_instances", "max_instances"] as const;

/** Returns the settings of a form; empty fields are not sent. */
function settingsIn(form: FormData, ...texts: string[]): Record<string, unknown> {
  const fields = pickFields(form, ...texts, ...NUMBERS);
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      if (value === "") return [];
      const isNumber = NUMBERS.some((one) => one === name);
      return [[name, isNumber ? z.coerce.number().catch(Number.NaN).parse(value) : value]];
    }),
  );
}

const placeIn = (c: PageContext): Place => [
  viewerOf(c).account.username,
  c.req.param("name") ?? "",
];
const options = { dry_run: false, allow_downtime: false };

export const deploymentPages = pages()
  .get(LIST, requireUser, (c) => showList(c))
  .post(LIST, requireUser, async (c) => {
    const { done, draft } = await handleForm(c, (form) => {
      const body = parse(createDeployment, settingsIn(form, "name", "model", "hardware"), "body");
      return changes.createDeployment(c.var.services, viewerOf(c).caller, body, options);
    });
    if (draft) return showList(c, draft);
    const { name } = done.detailed.deployment;
    return redirectWithFlash(c, "Deployment created.", `${LIST}/${name}`);
  })
  .get(ONE, requireUser, (c) => show(c))
  .post(ONE, requireUser, async (c) => {
    const isCheck = (await readForm(c)).get("check") === "true";
    let displaces: ChangedDeployment["displaces"] | undefined;
    const { draft } = await handleForm(c, async (form) => {
      const body = parse(updateDeployment, settingsIn(form, "model", "hardware"), "body");
      const { services } = c.var;
      const { caller } = viewerOf(c);
      const how = { ...options, dry_run: isCheck };
      const changed = await changes.updateDeployment(services, caller, placeIn(c), body, how);
      if (isCheck) displaces = changed.displaces;
    });
    if (draft) return show(c, draft);
    if (!isCheck) return redirectWithFlash(c, "Released.", addressOf(c));
    return show(c, { values: await readForm(c), issues: {} }, displaces);
  })
  .post(`${ONE}/rollback`, requireUser, async (c) => {
    await changes.rollBack(c.var.services, viewerOf(c).caller, placeIn(c));
    return redirectWithFlash(c, "Rolled back.", addressOf(c));
  })
  .post(`${ONE}/delete`, requireUser, async (c) => {
    await deleteDeployment(c.var.services, viewerOf(c).caller, placeIn(c));
    return redirectWithFlash(c, "Deployment deleted.", LIST);
  });

const addressOf = (c: PageContext) => `${LIST}/${c.req.param("name")}`;

const isDeveloper = (c: PageContext) => hasRole(viewerOf(c).caller, "developer");

const pageIn = (c: PageContext) => ({
  cursor: c.req.query("cursor"),
  size: PAGE,
  url: c.req.url,
});

async function showList(c: PageContext, draft: Draft = emptyDraft) {
  const { services } = c.var;
  const page = await listDeployments(services, viewerOf(c).caller, pageIn(c));
  const items = await presentDeployments(services, page.items);
  return c.render(
    <DeploymentsPage page={{ ...page, items }} isDeveloper={isDeveloper(c)} draft={draft} />,
    { title: "Deployments" },
  );
}

async function show(
  c: PageContext,
  draft: Draft = emptyDraft,
  displaces?: ChangedDeployment["displaces"],
) {
  const { services } = c.var;
  const { caller } = viewerOf(c);
  const place = placeIn(c);
  const found = await readDeployment(services, caller, place);
  const [deployment, releases] = await Promise.all([
    presentDeployment(services, found),
    listReleases(services, caller, place, pageIn(c)),
  ]);
  const props = { deployment, releases, draft, displaces, isDeveloper: isDeveloper(c) };
  return c.render(<DeploymentPage {...props} />, { title: place.join("/") });
}
