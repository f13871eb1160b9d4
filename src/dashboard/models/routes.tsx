/** /models and the public pages of a model. */

import { z } from "zod";
import type { Input } from "../../domain/schemas/input-form-values.ts";
import { type ModelItem, modelSort } from "../../protocol/model.ts";
import { getUser } from "../../services/access/accounts.ts";
import { describeImage } from "../../services/images/read-image.ts";
import { listCategories } from "../../services/models/categories.ts";
import { sampleInput } from "../../services/models/examples.ts";
import { readGallery } from "../../services/models/gallery.ts";
import { listModels, listOwnModels, listSharedModels } from "../../services/models/models.ts";
import { overviewPictures } from "../../services/models/pictures.ts";
import { databaseFor } from "../../services/models/public-reads.ts";
import { searchModels } from "../../services/models/search.ts";
import { listVersions, readCompared, readVersionRuns } from "../../services/models/versions.ts";
import type { Page, PageRequest } from "../../services/pagination.ts";
import { type DetailedModelRow, defaultVersion } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { emptyDraft } from "../form.ts";
import { streamsText } from "../playground/address.ts";
import { codeSamples } from "../playground/code/samples.ts";
import { Code } from "../playground/code/view.tsx";
import { NoVersion } from "../publish/no-version.tsx";
import { publishState } from "../publish/ways.tsx";
import { modelAddress, modelOf, referenceOf, renderModel } from "../ui/model-header.tsx";
import { examplePages } from "./examples.tsx";
import { type Gallery, type ModelQuery, ModelsPage, SharedPage, shareeOf } from "./list.tsx";
import { imageAbout, OverviewPage } from "./overview.tsx";
import { ownModelPages } from "./own-routes.tsx";
import { ownVersionPages } from "./own-version-routes.tsx";
import { OwnerPage } from "./owner.tsx";
import { pricePages } from "./price-routes.tsx";
import { renderVersion } from "./version.tsx";
import { VersionsPage } from "./versions.tsx";

function Calls({
  model,
  version,
  input,
  origin,
}: {
  model: DetailedModelRow;
  version: VersionRow;
  input: Input;
  origin: string;
}) {
  const name = referenceOf(model);
  const { compatibilities, number } = version;
  const streams = streamsText(version);
  return (
    <>
      <p>
        These examples run the default version; use <code>{`${name}:${number}`}</code> to pin this
        one. For the input, see{" "}
        <a href={modelAddress(model, `/versions/${number}`)}>version {number}</a>; for everything
        else, the <a href="/docs/reference/predictions#createPrediction">API reference</a>.
      </p>
      <Code samples={codeSamples({ origin, model: name, input, compatibilities, streams })} />
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
  if (viewer && owner === viewer.account.username)
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

export const modelPages = pages()
  .route("/", ownModelPages)
  .route("/", ownVersionPages)
  .route("/", pricePages)
  .route("/", examplePages)
  .get("/models", async (c) => {
    const query = modelQuery.parse(c.req.query());
    const [[models, gallery], { items: categories }] = await Promise.all([
      loadModels(c, query),
      loadCategories(c),
    ]);
    const { viewer } = c.var;
    return c.render(<ModelsPage {...{ viewer, query, categories, models, gallery }} />, {
      scripts: ["models"],
      title: query.q === "" ? "Models" : `Models: ${query.q}`,
    });
  })
  .get("/models/shared", requireUser, async (c) => {
    const { services, origin } = c.var;
    const viewer = viewerOf(c);
    const { caller } = viewer;
    const models = await listSharedModels(services, caller, pageRequest(c));
    const ids = models.items.map(({ id }) => id);
    const gallery = await readGallery(services, caller, ids, origin);
    return c.render(<SharedPage {...{ viewer, models, gallery }} />, {
      title: `Shared with ${shareeOf(viewer)}`,
    });
  })
  .get("/models/:owner", async (c) => {
    const query = modelQuery.parse(c.req.query());
    const { services, viewer } = c.var;
    const owner = await getUser(services, c.req.param("owner"));
    const [[models, gallery], { items: categories }] = await Promise.all([
      loadModels(c, query, owner.username),
      loadCategories(c),
    ]);
    const isBare = owner.id === viewer?.account.id && models.items.length === 0;
    const publish = isBare ? await publishState(c, undefined) : undefined;
    const page = <OwnerPage {...{ owner, viewer, query, categories, models, gallery, publish }} />;
    return c.render(page, { title: `Models by ${owner.username}` });
  })
  .get("/models/:owner/:name/overview", async (c) => {
    const model = await modelOf(c);
    const { services, viewer, origin } = c.var;
    const version = model.overview ? null : defaultVersion(model);
    const content = async () => {
      const [pictureUrl, gallery, described] = await Promise.all([
        overviewPictures(services, origin, model),
        readGallery(services, viewer, [model.id], origin),
        version ? describeImage(services, viewer?.caller, model, version) : undefined,
      ]);
      const labels = (described?.kind === "open" && described.content?.labels) || [];
      const cover = gallery.get(model.id)?.cover;
      return <OverviewPage {...{ model, viewer, cover, pictureUrl }} image={imageAbout(labels)} />;
    };
    const title = `Overview of ${referenceOf(model)}`;
    return renderModel(c, { model, page: "/overview", title }, content());
  })
  .get("/models/:owner/:name/versions", async (c) => {
    const { services, viewer } = c.var;
    const model = await modelOf(c);
    const page = await listVersions(services, model, pageRequest(c));
    const numbers = page.items.map(({ number }) => number);
    return renderModel(
      c,
      { model, page: "/versions", title: `Versions of ${referenceOf(model)}` },
      Promise.all([
        readCompared(services, model, numbers),
        viewer && readVersionRuns(services, viewer.caller, model),
      ]).then(([compared, runs]) => (
        <VersionsPage
          model={model}
          viewer={viewer}
          versions={page}
          runs={runs}
          compared={compared}
        />
      )),
    );
  })
  .get("/models/:owner/:name/versions/:number{[1-9][0-9]{0,8}}", (c) =>
    renderVersion(c, Number(c.req.param("number")), emptyDraft),
  )
  .get("/models/:owner/:name/api", async (c) => {
    const model = await modelOf(c);
    const version = defaultVersion(model);
    return renderModel(
      c,
      { model, page: "/api", title: `API of ${referenceOf(model)}` },
      version ? (
        sampleInput(c.var.services, version, c.var.origin).then((input) => (
          <Calls model={model} version={version} input={input} origin={c.var.origin} />
        ))
      ) : (
        <NoVersion model={model} viewer={c.var.viewer} />
      ),
    );
  });
