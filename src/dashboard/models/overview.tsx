/** Overview of a model: the description by its owner, with details in a sidebar. */
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { VersionEstimate } from "../../services/runners/run-estimate.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import { Markdown } from "../ui/markdown.tsx";
import { Empty, Time } from "../ui/parts.tsx";
import { Detail } from "./detail.tsx";
import { egressText } from "./egress.ts";
import { isOwner, ModelHeader, modelAddress } from "./header.tsx";

interface Props {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
}

export const OverviewPage = ({
  model,
  viewer,
  estimate,
}: Props & { estimate: VersionEstimate | undefined }) => (
  <>
    <ModelHeader model={model} viewer={viewer} page="/overview" estimate={estimate} />
    <div class="with-aside">
      <div>
        {model.overview ? (
          <Markdown text={model.overview} />
        ) : (
          <NoOverview model={model} viewer={viewer} />
        )}
      </div>
      <aside aria-label="Details">
        <Details model={model} owns={isOwner(model, viewer)} />
      </aside>
    </div>
  </>
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

/** Details that the header does not show. */
function Details({ model, owns }: { model: DetailedModelRow; owns: boolean }) {
  const { latest_version: latest, hardware, categories } = model;
  return (
    <dl class="details">
      {!latest && (
        <Detail name="Predictions">{model.predictions_count.toLocaleString("en")}</Detail>
      )}
      {latest && (
        <Detail name="Latest version">
          <a href={modelAddress(model, `/versions/${latest.number}`)}>{latest.number}</a>,{" "}
          <Time at={latest.created_at} />
        </Detail>
      )}
      <Detail name="Hardware">
        <bdi>{latest?.configuration.hardware_identifier ?? hardware?.name ?? DEFAULT_HARDWARE}</bdi>
      </Detail>
      {latest && <Detail name="Network access">{egressText(latest.configuration)}</Detail>}
      {latest && owns && (
        <Detail name="To change these">
          <a href={modelAddress(model, "/versions/new")}>Publish a version</a>
        </Detail>
      )}
      {categories.length > 0 && (
        <Detail name="Categories">
          <ul class="flow tags">
            {categories.map(({ slug, name }) => (
              <li>
                <a href={`/models?category=${slug}`}>{name}</a>
              </li>
            ))}
          </ul>
        </Detail>
      )}
      <Link name="Source" address={model.source_url} />
      <Link name="License" address={model.license_url} />
      <Link name="Paper" address={model.paper_url} />
      <Detail name="Created">
        <Time at={model.created_at} />
      </Detail>
      <Detail name="Updated">
        <Time at={model.updated_at} />
      </Detail>
    </dl>
  );
}

/** Labeled with the host: a whole URL is too long for the sidebar. */
const Link = ({ name, address }: { name: string; address: string | null }) =>
  address === null ? null : (
    <Detail name={name}>
      <a href={address} rel="nofollow ugc noopener">
        {new URL(address).host}
      </a>
    </Detail>
  );
