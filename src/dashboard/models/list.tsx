/** The gallery of models: all of them, or search results. The page of an owner is made of the same parts. */

import { OUTPUT_MODALITIES, type OutputModality } from "../../domain/models/output-modality.ts";
import type { Category, ModelItem, ModelSort } from "../../protocol/model.ts";
import { ownerName } from "../../protocol/user.ts";
import type { GalleryFacts } from "../../services/models/gallery.ts";
import type { Page } from "../../services/pagination.ts";
import { isPersonal, type Viewer } from "../context.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { VisibilityBadge } from "../ui/model-header.tsx";
import { Empty, Pager, Tabs, Time } from "../ui/parts.tsx";
import { Cover } from "./cover.tsx";

/** The query of the page; empty strings for no filter. */
export interface ModelQuery {
  q: string;
  category: string;
  sort: ModelSort;
}

interface Props {
  viewer: Viewer | undefined;
  query: ModelQuery;
  categories: Category[];
  models: Page<ModelItem>;
  gallery: Gallery;
}

export type Gallery = Map<string, GalleryFacts>;

export function ModelsPage({ viewer, query, categories, models, gallery }: Props) {
  const { q } = query;
  return (
    <>
      <div class="bar spread title-row">
        <h1>Models</h1>
        {viewer && <NewModel />}
      </div>
      {viewer && <OwnerTabs current="/models" viewer={viewer} />}
      <Search q={q} />
      <p class="visually-hidden" role="status" data-found>
        {q !== "" && foundText(models)}
      </p>
      <div data-models>
        {q === "" && <Filters query={query} categories={categories} action="/models" />}
        {models.items.length === 0 ? (
          <NoModels viewer={viewer} query={query} />
        ) : (
          <ModelCards models={models.items} gallery={gallery} />
        )}
        <Pager previous={models.previous_url} next={models.next_url} />
      </div>
    </>
  );
}

export const shareeOf = (viewer: Viewer) => (isPersonal(viewer) ? "you" : viewer.account.username);

/** The models that others share with the viewer's account. */
export const SharedPage = ({
  viewer,
  models,
  gallery,
}: Pick<Props, "models" | "gallery"> & { viewer: Viewer }) => (
  <>
    <div class="bar spread title-row">
      <h1>Shared with {shareeOf(viewer)}</h1>
    </div>
    <OwnerTabs current="/models/shared" viewer={viewer} />
    {models.items.length === 0 ? (
      <Empty title="No shared models yet">
        <p>
          Models that others <a href="/docs/teams#share-a-model">share</a> with {shareeOf(viewer)}{" "}
          appear here.
        </p>
      </Empty>
    ) : (
      <ModelCards models={models.items} gallery={gallery} leaves={viewer.account.username} />
    )}
    <Pager previous={models.previous_url} next={models.next_url} />
  </>
);

/** Announces to screen readers that the list has changed. */
function foundText({ items, next_url }: Page<ModelItem>): string {
  const { length } = items;
  if (length === 0) return "No models found";
  return length === 1
    ? "1 model found"
    : `${length}${next_url === null ? "" : " or more"} models found`;
}

export const NewModel = () => (
  <a class="button primary" href="/models/new">
    New model
  </a>
);

const MODALITY_NAMES: Record<OutputModality, string> = {
  text: "Text",
  pictures: "Images",
  sound: "Audio",
  video: "Video",
  embeddings: "Embeddings",
  files: "Files",
  data: "Data",
};

export const OwnerTabs = ({ current, viewer }: { current: string; viewer: Viewer }) => (
  <Tabs
    label="Owner"
    current={current}
    tabs={[
      ["/models", "All"],
      [
        `/models/${viewer.account.username}`,
        isPersonal(viewer) ? "Yours" : viewer.account.username,
      ],
      ["/models/shared", `Shared with ${shareeOf(viewer)}`],
    ]}
  />
);

interface Cards {
  models: ModelItem[];
  gallery: Gallery;
  /** The collaborator who can leave the models. */
  leaves?: string;
}

export const ModelCards = ({ models, gallery, leaves }: Cards) => (
  <ul class="cards gallery">
    {models.map((model) => (
      <ModelCard model={model} facts={gallery.get(model.id)} leaves={leaves} />
    ))}
  </ul>
);

const Search = ({ q }: { q: string }) => (
  <search>
    <form method="get" action="/models" class="bar filter-bar">
      <label for="q" class="visually-hidden">
        Search models
      </label>
      <input
        id="q"
        name="q"
        type="search"
        value={q}
        maxlength={50}
        placeholder="Name, owner or description"
        data-search
      />
      <Submit kind="quiet">Search</Submit>
      {q !== "" && (
        <a class="button quiet" href="/models">
          Show all
        </a>
      )}
    </form>
  </search>
);

export const Filters = ({
  query,
  categories,
  action,
}: Pick<Props, "query" | "categories"> & { action: string }) => (
  <form method="get" action={action} class="bar filter-bar">
    <label>
      Category{" "}
      <select name="category">
        <option value="">All</option>
        <optgroup label="Output">
          {OUTPUT_MODALITIES.map((makes) => (
            <option value={`makes:${makes}`} selected={`makes:${makes}` === query.category}>
              {MODALITY_NAMES[makes]}
            </option>
          ))}
        </optgroup>
        {categories.length > 0 && (
          <optgroup label="Categories">
            {categories.map(({ slug, name }) => (
              <option value={slug} selected={slug === query.category}>
                {name}
              </option>
            ))}
          </optgroup>
        )}
      </select>
    </label>
    <label>
      Sort by{" "}
      <select name="sort">
        <option value="created_at">Newest</option>
        <option value="predictions_count" selected={query.sort === "predictions_count"}>
          Most runs
        </option>
      </select>
    </label>
    <Submit kind="quiet">Apply</Submit>
  </form>
);

function ModelCard({
  model,
  facts,
  leaves,
}: {
  model: ModelItem;
  facts: GalleryFacts | undefined;
  leaves: string | undefined;
}) {
  const owner = ownerName(model.owner);
  const count = model.predictions_count;
  const path = `${owner}/${model.name}`;
  return (
    <li class="box">
      <Cover name={path} categories={model.categories} url={facts?.cover} />
      <div class="card-text">
        <h2>
          <a href={`/models/${path}`}>
            {owner}/<b>{model.name}</b>
          </a>{" "}
          <VisibilityBadge visibility={model.visibility} />
        </h2>
        {model.description && (
          <p class="clamp flush" dir="auto">
            {model.description}
          </p>
        )}
        <p class="flow quiet small model-meta">
          {facts?.makes && <span>{MODALITY_NAMES[facts.makes]}</span>}
          {/* The count is up to two minutes old: 0 may stand beside a run that has ended. */}
          {count > 0 && <span>{count === 1 ? "1 run" : `${count.toLocaleString("en")} runs`}</span>}
          {facts && <Published at={facts.published_at} />}
          {model.categories.map(({ slug, name }) => (
            <a href={`/models?category=${slug}`}>{name}</a>
          ))}
        </p>
        {leaves !== undefined && (
          <Form
            action={`/models/${path}/collaborators/${leaves}/remove`}
            data-confirm={`Leave ${path}? Only its owner can share it with you again.`}
          >
            <button type="submit" class="quiet">
              Leave<span class="visually-hidden">{` ${path}`}</span>
            </button>
          </Form>
        )}
      </div>
    </li>
  );
}

const Published = ({ at }: { at: number | null }) => (
  <span>
    {at === null ? (
      "no version yet"
    ) : (
      <>
        published <Time at={at} />
      </>
    )}
  </span>
);

function NoModels({ viewer, query }: Pick<Props, "viewer" | "query">) {
  const { q, category, sort } = query;
  if (q !== "") {
    return (
      <Empty title={`No models match “${q}”`}>
        <p>
          Try fewer words or the start of a word, or <a href="/models">browse all models</a>.
        </p>
      </Empty>
    );
  }
  if (isFiltered({ category, sort })) return <NoMatch all="/models" />;
  return (
    <Empty title="No models yet">
      <p>
        {viewer ? (
          <a href="/models/publish">Publish the first one</a>
        ) : (
          <>
            <a href="/sign-in?next=/models/new">Log in</a> to create the first one.
          </>
        )}
      </p>
    </Empty>
  );
}

export const isFiltered = ({ category, sort }: Omit<ModelQuery, "q">) =>
  category !== "" || sort === "predictions_count";

/** @param all where they are without filters */
export const NoMatch = ({ all }: { all: string }) => (
  <Empty title="No models match these filters">
    <p>
      <a href={all}>Show all models</a>
    </p>
  </Empty>
);
