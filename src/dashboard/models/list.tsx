/** The list of models: all of them, or search results. The page of an owner is made of the same parts. */
import type { Category } from "../../protocol/category.ts";
import type { ModelItem, ModelSort } from "../../protocol/model.ts";
import type { Page } from "../../services/pagination.ts";
import type { Viewer } from "../context.ts";
import { Empty, Pager, Tabs, Time } from "../ui/parts.tsx";
import { VisibilityBadge } from "./header.tsx";

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
}

export function ModelsPage({ viewer, query, categories, models }: Props) {
  const { q } = query;
  return (
    <>
      <div class="title-row">
        <h1>Models</h1>
        {viewer && <NewModel />}
      </div>
      {viewer && <OwnerTabs current="/models" username={viewer.user.username} />}
      <Search q={q} />
      {q === "" && <Filters query={query} categories={categories} action="/models" />}
      {models.items.length === 0 ? (
        <NoModels viewer={viewer} query={query} />
      ) : (
        <ModelRows models={models.items} />
      )}
      <Pager previous={models.previous_url} next={models.next_url} />
    </>
  );
}

export const NewModel = () => (
  <a class="button primary" href="/models/new">
    New model
  </a>
);

export const OwnerTabs = ({ current, username }: { current: string; username: string }) => (
  <Tabs
    label="Owner"
    current={current}
    tabs={[
      ["/models", "All"],
      [`/models/${username}`, "Yours"],
    ]}
  />
);

export const ModelRows = ({ models }: { models: ModelItem[] }) => (
  <ul class="models">
    {models.map((model) => (
      <ModelRow model={model} />
    ))}
  </ul>
);

const Search = ({ q }: { q: string }) => (
  <search>
    <form method="get" action="/models" class="filter-bar">
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
      />
      <button type="submit" class="quiet">
        Search
      </button>
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
  <form method="get" action={action} class="filter-bar">
    <label>
      Category{" "}
      <select name="category">
        <option value="">All</option>
        {categories.map(({ slug, name }) => (
          <option value={slug} selected={slug === query.category}>
            {name}
          </option>
        ))}
      </select>
    </label>
    <label>
      Sort by{" "}
      <select name="sort">
        <option value="created_at">Newest</option>
        <option value="predictions_count" selected={query.sort === "predictions_count"}>
          Most predictions
        </option>
      </select>
    </label>
    <button type="submit" class="quiet">
      Apply
    </button>
  </form>
);

function ModelRow({ model }: { model: ModelItem }) {
  const owner = "username" in model.owner ? model.owner.username : model.owner.name;
  const count = model.predictions_count;
  return (
    <li>
      <h2>
        <a href={`/models/${owner}/${model.name}`}>
          {owner}/<b>{model.name}</b>
        </a>{" "}
        <VisibilityBadge visibility={model.visibility} />
      </h2>
      {model.description && <p class="description">{model.description}</p>}
      <p class="model-meta">
        <span>{count === 1 ? "1 prediction" : `${count.toLocaleString("en")} predictions`}</span>
        <span>
          updated <Time at={model.updated_at} />
        </span>
        {model.categories.map(({ slug, name }) => (
          <a href={`/models?category=${slug}`}>{name}</a>
        ))}
      </p>
    </li>
  );
}

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
            <a href="/sign-in?next=/models/new">Sign in</a> to create the first one.
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
