/** The list of models: all, of one owner, or search results. */
import type { Category } from "../../protocol/category.ts";
import type { ModelItem, ModelSort } from "../../protocol/model.ts";
import type { Page } from "../../services/pagination.ts";
import type { Viewer } from "../context.ts";
import { type PublishState, PublishWays } from "../publish/ways.tsx";
import { Empty, Pager, Tabs, Time } from "../ui/parts.tsx";
import { VisibilityBadge } from "./header.tsx";

/** The query of the page; empty strings for no filter. */
export interface ModelQuery {
  q: string;
  owner: string;
  category: string;
  sort: ModelSort;
}

interface Props {
  viewer: Viewer | undefined;
  query: ModelQuery;
  categories: Category[];
  models: Page<ModelItem>;
  /** The ways to publish, for a viewer without any model who looks at their own. */
  publish: PublishState | undefined;
}

export function ModelsPage({ viewer, query, categories, models, publish }: Props) {
  const { q, owner } = query;
  const own = viewer?.user.username;
  return (
    <>
      <div class="title-row">
        <h1>{owner === "" || owner === own ? "Models" : `Models by ${owner}`}</h1>
        {viewer && (
          <a class="button primary" href="/models/new">
            New model
          </a>
        )}
      </div>
      {own !== undefined && (
        <Tabs
          label="Owner"
          current={owner === "" ? "/models" : `/models?owner=${owner}`}
          tabs={[
            ["/models", "All"],
            [`/models?owner=${own}`, "Yours"],
          ]}
        />
      )}
      {owner === "" && <Search q={q} />}
      {q === "" && owner !== own && <Filters query={query} categories={categories} />}
      {models.items.length === 0 ? (
        <NoModels viewer={viewer} query={query} publish={publish} />
      ) : (
        <ul class="models">
          {models.items.map((model) => (
            <ModelRow model={model} />
          ))}
        </ul>
      )}
      <Pager previous={models.previous_url} next={models.next_url} />
    </>
  );
}

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

const Filters = ({ query, categories }: Pick<Props, "query" | "categories">) => (
  <form method="get" action="/models" class="filter-bar">
    {query.owner !== "" && <input type="hidden" name="owner" value={query.owner} />}
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

function NoModels({ viewer, query, publish }: Pick<Props, "viewer" | "query" | "publish">) {
  const { q, owner, category, sort } = query;
  if (q !== "") {
    return (
      <Empty title={`No models match “${q}”`}>
        <p>
          Try fewer words or the start of a word, or <a href="/models">browse all models</a>.
        </p>
      </Empty>
    );
  }
  if (publish) {
    return (
      <>
        <h2>You have no models yet</h2>
        <p>
          A model has a name and a page. Its versions are container images that run on the GPUs of
          this deployment. Publish one in one of these ways, or{" "}
          <a href="/models/new">create its page first</a>.
        </p>
        <PublishWays state={publish} level={3} />
      </>
    );
  }
  if (category !== "" || sort === "predictions_count") {
    return (
      <Empty title="No models match these filters">
        <p>
          <a href={owner === "" ? "/models" : `/models?owner=${owner}`}>Show all models</a>
        </p>
      </Empty>
    );
  }
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
