/** Models to look through: everybody's, one owner's, or what a search has found. */
import type { Category } from "../../protocol/category.ts";
import type { ModelItem, ModelSort } from "../../protocol/model.ts";
import type { Page } from "../../services/pagination.ts";
import type { Viewer } from "../context.ts";
import { Empty, Pager, Tabs, Time } from "../ui/parts.tsx";
import { VisibilityBadge } from "./header.tsx";

/** What the address asks for; empty: nothing in particular. */
export interface Asked {
  q: string;
  owner: string;
  category: string;
  sort: ModelSort;
}

interface Props {
  viewer: Viewer | undefined;
  asked: Asked;
  categories: Category[];
  models: Page<ModelItem>;
}

export function ModelsPage({ viewer, asked, categories, models }: Props) {
  const { q, owner } = asked;
  const own = viewer?.user.username;
  return (
    <>
      <div class="title-row">
        <h1>{owner === "" || owner === own ? "Models" : `Models of ${owner}`}</h1>
        {viewer && (
          <a class="button primary" href="/models/new">
            New model
          </a>
        )}
      </div>
      {own !== undefined && (
        <Tabs
          label="Whose models"
          current={owner === "" ? "/models" : `/models?owner=${owner}`}
          tabs={[
            ["/models", "All"],
            [`/models?owner=${own}`, "Yours"],
          ]}
        />
      )}
      {owner === "" && <Search q={q} />}
      {q === "" && owner !== own && <Filters asked={asked} categories={categories} />}
      {models.items.length === 0 ? (
        <Nothing viewer={viewer} asked={asked} />
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
    <form method="get" action="/models" class="bar">
      <label for="q" class="unseen">
        Search models
      </label>
      <input
        id="q"
        name="q"
        type="search"
        value={q}
        maxlength={50}
        placeholder="Name, owner or what it does"
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

const Filters = ({ asked, categories }: Pick<Props, "asked" | "categories">) => (
  <form method="get" action="/models" class="bar">
    {asked.owner !== "" && <input type="hidden" name="owner" value={asked.owner} />}
    <label>
      Category{" "}
      <select name="category">
        <option value="">All</option>
        {categories.map(({ slug, name }) => (
          <option value={slug} selected={slug === asked.category}>
            {name}
          </option>
        ))}
      </select>
    </label>
    <label>
      Order{" "}
      <select name="sort">
        <option value="created_at">Newest first</option>
        <option value="predictions_count" selected={asked.sort === "predictions_count"}>
          Most runs first
        </option>
      </select>
    </label>
    <button type="submit" class="quiet">
      Show
    </button>
  </form>
);

function ModelRow({ model }: { model: ModelItem }) {
  const owner = "username" in model.owner ? model.owner.username : model.owner.name;
  const runs = model.predictions_count;
  return (
    <li>
      <h2>
        <a href={`/models/${owner}/${model.name}`}>
          {owner}/<b>{model.name}</b>
        </a>{" "}
        <VisibilityBadge visibility={model.visibility} />
      </h2>
      {model.description && <p class="description">{model.description}</p>}
      <p class="about">
        <span>{runs === 1 ? "1 run" : `${runs.toLocaleString("en")} runs`}</span>
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

function Nothing({ viewer, asked }: Pick<Props, "viewer" | "asked">) {
  const { q, owner, category, sort } = asked;
  if (q !== "") {
    return (
      <Empty title={`Nothing was found for “${q}”`}>
        <p>
          Try fewer words or the beginning of one, or <a href="/models">look through all models</a>.
        </p>
      </Empty>
    );
  }
  if (viewer && owner === viewer.user.username) {
    return (
      <Empty title="You have no models yet">
        <p>
          A model is a name and a page; its versions are container images that run on the GPUs of
          this deployment.
        </p>
        <p>
          <a class="button primary" href="/models/new">
            Create your first model
          </a>
        </p>
      </Empty>
    );
  }
  if (category !== "" || sort === "predictions_count") {
    return (
      <Empty title="No model is like that">
        <p>
          <a href={owner === "" ? "/models" : `/models?owner=${owner}`}>Show them all</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="There are no models here yet">
      <p>
        {viewer ? (
          <a href="/models/new">Create the first one</a>
        ) : (
          <>
            <a href="/sign-in?next=/models/new">Sign in</a> to create the first one.
          </>
        )}
      </p>
    </Empty>
  );
}
