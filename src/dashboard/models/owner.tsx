/** The page of an owner: the public profile and the models. */
import type { Category, ModelItem } from "../../protocol/model.ts";
import type { Page } from "../../services/pagination.ts";
import type { UserRow } from "../../storage/accounts/users.ts";
import { isPersonal, type Viewer } from "../context.ts";
import { type PublishState, PublishWays } from "../publish/ways.tsx";
import { Empty, Pager } from "../ui/parts.tsx";
import {
  Filters,
  type Gallery,
  isFiltered,
  ModelCards,
  type ModelQuery,
  NewModel,
  NoMatch,
  OwnerTabs,
} from "./list.tsx";

interface Props {
  owner: UserRow;
  viewer: Viewer | undefined;
  query: ModelQuery;
  categories: Category[];
  models: Page<ModelItem>;
  gallery: Gallery;
  /** The ways to publish, for a viewer without any model who looks at their own. */
  publish: PublishState | undefined;
}

export const ownerAddress = (username: string) => `/models/${username}`;

export function OwnerPage(props: Props) {
  const { owner, viewer, query, categories, models, gallery, publish } = props;
  const address = ownerAddress(owner.username);
  const isOwn = viewer?.account.id === owner.id;
  return (
    <>
      {isOwn ? (
        <>
          <div class="bar spread title-row">
            <h1>{isPersonal(viewer) ? "Your models" : `Models of ${owner.username}`}</h1>
            <NewModel />
          </div>
          <OwnerTabs current={address} viewer={viewer} />
        </>
      ) : (
        <>
          <About owner={owner} />
          <Filters query={query} categories={categories} action={address} />
        </>
      )}
      {models.items.length > 0 ? (
        <ModelCards models={models.items} gallery={gallery} />
      ) : (
        <NoModels owner={owner} query={query} publish={publish} />
      )}
      <Pager previous={models.previous_url} next={models.next_url} />
    </>
  );
}

const About = ({
  owner: { username, name, bio, company, location, urls, avatar_url },
}: Pick<Props, "owner">) => (
  <header class="bar below owner">
    <div class="portrait">
      {avatar_url ? (
        <img src={new URL(avatar_url).pathname} alt="" />
      ) : (
        <span aria-hidden="true">{username.slice(0, 1)}</span>
      )}
    </div>
    <div>
      <h1 dir="auto">{name || username}</h1>
      <p class="hint">
        {[name && username, company, location].filter(Boolean).map((part, n) => (
          <>
            {n > 0 && " · "}
            <bdi>{part}</bdi>
          </>
        ))}
      </p>
      {bio && <p dir="auto">{bio}</p>}
      {urls.map((url) => (
        <a class="small" href={url} rel="nofollow noopener">
          {url.replace(/^https?:\/\//, "")}
        </a>
      ))}
    </div>
  </header>
);

function NoModels({ owner, query, publish }: Pick<Props, "owner" | "query" | "publish">) {
  if (publish)
    return (
      <>
        <h2>You have no models yet</h2>
        <p>
          Models are container images that run on the GPUs of this deployment. Publish one in any of
          these ways, or <a href="/models/new">create an empty model first</a>.
        </p>
        <PublishWays state={publish} level={3} />
      </>
    );
  if (isFiltered(query)) return <NoMatch all={ownerAddress(owner.username)} />;
  return (
    <Empty title="No models yet">
      <p>
        <a href="/models">Browse models</a>
      </p>
    </Empty>
  );
}
