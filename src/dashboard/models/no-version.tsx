/** The page of a model that nobody can run yet. */
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { PageContext, Viewer } from "../context.ts";
import { publishState } from "../publish/state.ts";
import { type PublishState, PublishWays } from "../publish/ways.tsx";
import { Empty } from "../ui/parts.tsx";
import { isOwner, ModelHeader, modelAddress } from "./header.tsx";

interface Props {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
}

/** Renders the page of a model without a version, which shows its owner how to publish. */
export async function renderNoVersion(c: PageContext, model: DetailedModelRow) {
  const { viewer } = c.var;
  const publish = isOwner(model, viewer) ? await publishState(c, model) : undefined;
  return c.render(
    <>
      <ModelHeader model={model} viewer={viewer} page="" estimate={undefined} />
      {publish ? (
        <FirstVersion model={model} publish={publish} />
      ) : (
        <NoVersion model={model} viewer={viewer} />
      )}
    </>,
    { title: `${model.owner.username}/${model.name}` },
  );
}

const FirstVersion = ({ model, publish }: { model: DetailedModelRow; publish: PublishState }) => (
  <>
    <h2>No version yet</h2>
    <p>
      Publish the first one in one of these ways, or{" "}
      <a href={modelAddress(model, "/versions/new")}>fill in a form</a> for an image that you have
      pushed.
    </p>
    <PublishWays state={publish} level={3} />
  </>
);

/** Stands in place of the parts that show a version. */
export const NoVersion = ({ model, viewer }: Props) => (
  <Empty title="No version yet">
    {isOwner(model, viewer) ? (
      <p>
        <a class="button primary" href={modelAddress(model, "/publish")}>
          Publish the first version
        </a>
      </p>
    ) : (
      <p>The owner has not published a version. Check back later.</p>
    )}
  </Empty>
);
