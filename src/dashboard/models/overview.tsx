/** A model's first page: what its owner says of it, and the facts beside that. */
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import { Markdown } from "../ui/markdown.tsx";
import { Empty, Time } from "../ui/parts.tsx";
import { egressText } from "./egress.ts";
import { Fact } from "./facts.tsx";
import { isOwner, ModelHeader, modelAddress } from "./header.tsx";
import { isolationText } from "./isolation.ts";

interface Props {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
}

export const OverviewPage = ({ model, viewer }: Props) => (
  <>
    <ModelHeader model={model} viewer={viewer} page="" />
    <div class="with-aside">
      <div>
        {!model.latest_version && <NoVersion model={model} viewer={viewer} />}
        {model.overview ? (
          <Markdown text={model.overview} />
        ) : (
          model.latest_version && <NoOverview model={model} viewer={viewer} />
        )}
      </div>
      <aside aria-label="Details">
        <Facts model={model} />
      </aside>
    </div>
  </>
);

export const NoVersion = ({ model, viewer }: Props) => (
  <Empty title="No version yet">
    {isOwner(model, viewer) ? (
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

const NoOverview = ({ model, viewer }: Props) => (
  <Empty title="No overview yet">
    {isOwner(model, viewer) ? (
      <p>
        <a href={modelAddress(model, "/settings")}>Write an overview</a>: what the model does, what
        it is good for, what it costs.
      </p>
    ) : (
      <p>
        See <a href={modelAddress(model, "/versions")}>its versions</a> for input and output.
      </p>
    )}
  </Empty>
);

function Facts({ model }: { model: DetailedModelRow }) {
  const { latest_version: latest, hardware, categories } = model;
  return (
    <dl class="facts">
      <Fact name="Predictions">{model.predictions_count.toLocaleString("en")}</Fact>
      {latest && (
        <Fact name="Latest version">
          <a href={modelAddress(model, `/versions/${latest.number}`)}>{latest.number}</a>,{" "}
          <Time at={latest.created_at} />
        </Fact>
      )}
      <Fact name="Hardware">
        {latest?.configuration.hardware_identifier ?? hardware?.name ?? DEFAULT_HARDWARE}
      </Fact>
      {latest && <Fact name="Container sharing">{isolationText(latest.configuration)}</Fact>}
      {latest && <Fact name="Network access">{egressText(latest.configuration)}</Fact>}
      {categories.length > 0 && (
        <Fact name="Categories">
          <ul class="tags">
            {categories.map(({ slug, name }) => (
              <li>
                <a href={`/models?category=${slug}`}>{name}</a>
              </li>
            ))}
          </ul>
        </Fact>
      )}
      <Link name="Source" address={model.source_url} />
      <Link name="License" address={model.license_url} />
      <Link name="Paper" address={model.paper_url} />
      <Fact name="Created">
        <Time at={model.created_at} />
      </Fact>
      <Fact name="Updated">
        <Time at={model.updated_at} />
      </Fact>
    </dl>
  );
}

/** By its host: the whole address is longer than there is room for. */
const Link = ({ name, address }: { name: string; address: string | null }) =>
  address === null ? null : (
    <Fact name={name}>
      <a href={address} rel="nofollow ugc noopener">
        {new URL(address).host}
      </a>
    </Fact>
  );
