/** The page of a model that nobody can run yet. */
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { PageContext, Viewer } from "../context.ts";
import { isOwner, mayWrite, modelAddress, referenceOf, renderModel } from "../ui/model-header.tsx";
import { Empty } from "../ui/parts.tsx";
import { type PublishState, PublishWays, publishState } from "./ways.tsx";

interface Props {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
}

export async function renderNoVersion(c: PageContext, model: DetailedModelRow) {
  const { viewer } = c.var;
  const publish = isOwner(model, viewer) ? await publishState(c, model) : undefined;
  return renderModel(
    c,
    { model, page: "", title: referenceOf(model) },
    publish ? (
      <FirstVersion model={model} publish={publish} />
    ) : (
      <NoVersion model={model} viewer={viewer} />
    ),
  );
}

const FirstVersion = ({ model, publish }: { model: DetailedModelRow; publish: PublishState }) => (
  <>
    <h2>No version yet</h2>
    <p>
      Publish the first version below. Already pushed an image?{" "}
      <a href={modelAddress(model, "/versions/new")}>Create a version</a>.
    </p>
    <PublishWays state={publish} level={3} />
  </>
);

export const NoVersion = ({ model, viewer }: Props) => (
  <Empty title="No version yet">
    {isOwner(model, viewer) ? (
      <p>
        <a class="button primary" href={modelAddress(model, "/publish")}>
          Publish the first version
        </a>
      </p>
    ) : mayWrite(model, viewer) ? (
      <p>
        <a class="button primary" href={modelAddress(model, "/versions/new")}>
          Publish the first version
        </a>
      </p>
    ) : (
      <p>The owner has not published a version. Check back later.</p>
    )}
  </Empty>
);
