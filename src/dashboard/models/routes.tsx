/** /models and the public pages of a model. */
import { z } from "zod";
import { exampleInput } from "../../domain/schemas/example-input.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { type ModelItem, modelSort } from "../../protocol/model.ts";
import { getUser } from "../../services/accounts/users.ts";
import { listCategories } from "../../services/models/categories.ts";
import { exampleChoices } from "../../services/models/examples.ts";
import { readGallery } from "../../services/models/gallery.ts";
import { listModels, listOwnModels, readModel } from "../../services/models/models.ts";
import { databaseFor } from "../../services/models/public-reads.ts";
import { searchModels } from "../../services/models/search.ts";
import { listVersions, readCompared } from "../../services/models/versions.ts";
import type { Page, PageRequest } from "../../services/pagination.ts";
import type { VersionEstimate } from "../../services/runners/run-estimate.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { type PageContext, pages, type Viewer } from "../context.ts";
import { emptyDraft } from "../form.ts";
import { codeSamples } from "../playground/code/samples.ts";
import { Code } from "../playground/code/view.tsx";
import { chosenExample } from "../playground/examples/note.ts";
import { publishState } from "../publish/state.ts";
import { examplePages } from "./example-routes.tsx";
import { ModelHeader, modelAddress } from "./header.tsx";
import { type Gallery, type ModelQuery, ModelsPage } from "./list.tsx";
import { loadVersion } from "./load-version.ts";
import { NoVersion, renderNoVersion } from "./no-version.tsx";
import { OverviewPage } from "./overview.tsx";
import { ownModelPages } from "./own-routes.tsx";
import { ownVersionPages } from "./own-version-routes.tsx";
import { OwnerPage } from "./owner.tsx";
import { estimateOf } from "./run-estimate.ts";
import { VersionPage } from "./version.tsx";
import { VersionsPage } from "./versions.tsx";
import { VisitorPage } from "./visitor.tsx";

/** Code samples for calling a model, with the deployment's own URL. */
const ApiPage = ({
  model,
  viewer,
  estimate,
  origin,
}: {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
  estimate: VersionEstimate | undefined;
  origin: string;
}) => (
  <>
    <ModelHeader model={model} viewer={viewer} page="/api" estimate={estimate} />
    {model.latest_version ? (
      <Calls model={model} version={model.latest_version} origin={origin} />
    ) : (
      <NoVersion model={model} viewer={viewer} />
    )}
  </>
);

function Calls({
  model,
  version,
  origin,
}: {
  model: DetailedModelRow;
  version: NonNullable<DetailedModelRow["latest_version"]>;
  origin: string;
}) {
  const name = `${model.owner.username}/${model.name}`;
  const { schemas, compatibilities, number } = version;
  const input = exampleInput(versionSchema(schemas, "input"));
  return (
    <>
      <p>
        These examples run the latest version; use <code>{`${name}:${number}`}</code> to pin this
        one. For the input, see{" "}
        <a href={modelAddress(model, `/versions/${number}`)}>version {number}</a>; for everything
        else, the <a href="/docs#createPrediction">API reference</a>.
      </p>
      <Code samples={codeSamples({ origin, model: name, input, compatibilities })} />
    </>
  );
}

/** Invalid parameters are ignored: people edit URLs by hand. */
const modelQuery = z.object({
  q: z.string().max(50).catch("").default(""),
  category: z.string().catch("").default(""),
  sort: modelSort.catch("created_at").default("created_at"),
});

const PAGE_SIZE = 20;
const MAX_CATEGORIES = 1_000;

const pageRequest = (c: PageContext): PageRequest => ({
  cursor: c.req.query("cursor"),
  size: PAGE_SIZE,
  url: c.req.url,
});

/** @param owner of all by default */
async function loadModels(
  c: PageContext,
  query: ModelQuery,
  owner?: string,
): Promise<[Page<ModelItem>, Gallery]> {
  const { services, viewer, origin } = c.var;
  const page = await findModels(c, query, owner);
  const ids = page.items.map(({ id }) => id);
  return [page, await readGallery(services, viewer, ids, origin)];
}

function findModels(
  c: PageContext,
  { q, category, sort }: ModelQuery,
  owner?: string,
): Promise<Page<ModelItem>> {
  const { services, viewer } = c.var;
  const request = pageRequest(c);
  if (owner === undefined && q !== "") return searchModels(services, viewer?.caller, q, request);
  if (viewer && owner === viewer.user.username)
    return listOwnModels(services, viewer.caller, request);
  const filters = {
    sort_by: sort,
    sort_direction: "desc" as const,
    category_slugs: category === "" ? [] : [category],
  };
  return listModels(services, viewer?.caller, owner, filters, request);
}

function loadCategories({ var: { services, viewer }, req }: PageContext) {
  const first = { cursor: undefined, size: MAX_CATEGORIES, url: req.url };
  return listCategories(services, first, databaseFor(services, viewer));
}

/** @throws ProblemError not_found */
const loadModel = (c: PageContext, owner: string, name: string) =>
  readModel(c.var.services, c.var.viewer?.caller, owner, name);

export const modelPages = pages()
  .route("/", ownModelPages)
  .route("/", ownVersionPages)
  .route("/", examplePages)
  .get("/models", async (c) => {
    const query = modelQuery.parse(c.req.query());
    const [[models, gallery], categories] = await Promise.all([
      loadModels(c, query),
      loadCategories(c),
    ]);
    return c.render(
      <ModelsPage
        viewer={c.var.viewer}
        query={query}
        categories={categories.items}
        models={models}
        gallery={gallery}
      />,
      { scripts: ["models"], title: query.q === "" ? "Models" : `Models: ${query.q}` },
    );
  })
  .get("/models/:owner", async (c) => {
    const query = modelQuery.parse(c.req.query());
    const { services, viewer } = c.var;
    const owner = await getUser(services, c.req.param("owner"));
    const [[models, gallery], categories] = await Promise.all([
      loadModels(c, query, owner.username),
      loadCategories(c),
    ]);
    const isBare = owner.id === viewer?.user.id && models.items.length === 0;
    return c.render(
      <OwnerPage
        owner={owner}
        viewer={viewer}
        query={query}
        categories={categories.items}
        models={models}
        gallery={gallery}
        publish={isBare ? await publishState(c, undefined) : undefined}
      />,
      { title: `Models by ${owner.username}` },
    );
  })
  .get("/models/:owner/:name", async (c, next) => {
    // The playground is for users who are signed in, and for links to a run, which has an owner.
    if (c.var.viewer || c.req.query("prediction") !== undefined) return next();
    const { owner, name } = c.req.param();
    const model = await loadModel(c, owner, name);
    const { latest_version: version } = model;
    if (!version) return renderNoVersion(c, model);
    const { services, origin } = c.var;
    const chosen = c.req.query("example");
    const [estimate, examples, one] = await Promise.all([
      estimateOf(c, model),
      exampleChoices(services, model.id, origin),
      chosenExample(services, version, chosen, origin),
    ]);
    const { host } = new URL(origin);
    return c.render(<VisitorPage {...{ model, version, estimate, examples, host, ...one }} />, {
      title: `${owner}/${name}`,
    });
  })
  .get("/models/:owner/:name/overview", async (c) => {
    const { owner, name } = c.req.param();
    const model = await loadModel(c, owner, name);
    const estimate = await estimateOf(c, model);
    return c.render(<OverviewPage model={model} viewer={c.var.viewer} estimate={estimate} />, {
      title: `Overview of ${owner}/${name}`,
    });
  })
  .get("/models/:owner/:name/versions", async (c) => {
    const { services, viewer } = c.var;
    const { owner, name } = c.req.param();
    const [model, versions] = await Promise.all([
      loadModel(c, owner, name),
      listVersions(services, viewer?.caller, owner, name, pageRequest(c)),
    ]);
    const numbers = versions.page.items.map(({ number }) => number);
    const [compared, estimate] = await Promise.all([
      readCompared(services, model, numbers),
      estimateOf(c, model),
    ]);
    return c.render(
      <VersionsPage {...{ model, viewer, estimate, versions: versions.page, compared }} />,
      { title: `Versions of ${owner}/${name}` },
    );
  })
  .get("/models/:owner/:name/versions/:number{[1-9][0-9]{0,8}}", async (c) => {
    const { owner, name, number } = c.req.param();
    const loaded = await loadVersion(c, owner, name, Number(number));
    return c.render(<VersionPage {...loaded} draft={emptyDraft} />, {
      title: `${owner}/${name}:${number}`,
    });
  })
  .get("/models/:owner/:name/api", async (c) => {
    const { viewer, origin } = c.var;
    const { owner, name } = c.req.param();
    const model = await loadModel(c, owner, name);
    const estimate = await estimateOf(c, model);
    return c.render(<ApiPage {...{ model, viewer, estimate, origin }} />, {
      title: `API of ${owner}/${name}`,
    });
  });
