/** Overview of a model: the description by its owner, with details in a sidebar. */
import type { ShownLabel } from "../../domain/images/shown-labels.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { PictureUrl } from "../../services/models/pictures.ts";
import { type DetailedModelRow, defaultVersion } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import { egressText, isolationText } from "../ui/configuration.ts";
import { Markdown } from "../ui/markdown.ts";
import { isOwner, mayWrite, modelAddress } from "../ui/model-header.tsx";
import { Empty, Fact, Time } from "../ui/parts.tsx";

interface Props {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
}

interface OverviewProps extends Props {
  /** The URL of the cover image. */
  cover: string | undefined;
  /** The labels of the default version's image that a model without an overview shows instead. */
  image: ImageAbout | undefined;
  pictureUrl: PictureUrl;
}

export const OverviewPage = ({ model, viewer, cover, image, pictureUrl }: OverviewProps) => (
  <div class="split with-aside">
    <div>
      {model.overview ? (
        <Markdown text={model.overview} pictureUrl={pictureUrl} />
      ) : image ? (
        <About image={image} />
      ) : (
        <NoOverview model={model} viewer={viewer} />
      )}
    </div>
    <aside aria-label="Details">
      {cover !== undefined && <img class="box model-picture" src={cover} alt="" />}
      <Details model={model} owns={isOwner(model, viewer)} />
    </aside>
  </div>
);

export interface ImageAbout {
  description: string;
  documentation: URL | undefined;
}

/** Reads the OCI labels that describe an image. Undefined: it has none. */
export function imageAbout(labels: readonly ShownLabel[]): ImageAbout | undefined {
  const labelled = (name: string) =>
    labels.find((label) => label.name === `org.opencontainers.image.${name}`)?.value ?? "";
  const description = labelled("description");
  const address = labelled("documentation") || labelled("url");
  const documentation = /^https?:\/\//.test(address) ? URL.parse(address) : null;
  if (description === "" && !documentation) return undefined;
  return { description, documentation: documentation ?? undefined };
}

const About = ({ image: { description, documentation } }: { image: ImageAbout }) => (
  <>
    <Markdown text={description} />
    {documentation && (
      <p>
        <a href={documentation.href} rel="nofollow ugc noopener">
          Documentation on {documentation.host}
        </a>
      </p>
    )}
    <p class="hint">From the image’s labels.</p>
  </>
);

const NoOverview = ({ model, viewer }: Props) => (
  <Empty title="No overview yet">
    {mayWrite(model, viewer) ? (
      <p>
        <a href={modelAddress(model, "/settings")}>Write an overview</a> to explain what the model
        does and how to use it.
      </p>
    ) : (
      <p>
        See <a href={modelAddress(model, "/versions")}>versions</a> for inputs and outputs.
      </p>
    )}
  </Empty>
);

function Details({ model, owns }: { model: DetailedModelRow; owns: boolean }) {
  const { latest_version: latest, hardware, categories } = model;
  const version = defaultVersion(model);
  const remote = version?.configuration.remote;
  return (
    <dl class="details">
      {model.predictions_count > 0 && (
        <Fact name="Runs" title="Updated within two minutes">
          {model.predictions_count.toLocaleString("en")}
        </Fact>
      )}
      {latest && (
        <Fact name="Latest version">
          <a href={modelAddress(model, `/versions/${latest.number}`)}>{latest.number}</a>,{" "}
          <Time at={latest.created_at} />
        </Fact>
      )}
      {version && version.number !== latest?.number && (
        <Fact name="Default version">
          <a href={modelAddress(model, `/versions/${version.number}`)}>{version.number}</a>
        </Fact>
      )}
      {remote ? (
        <Fact name="Runs at">{new URL(remote.url).host}</Fact>
      ) : (
        <Fact name="Hardware">
          <bdi>
            {version?.configuration.hardware_identifier ?? hardware?.name ?? DEFAULT_HARDWARE}
          </bdi>
        </Fact>
      )}
      {version && !remote && (
        <>
          <Fact name="Container sharing">
            {isolationText(version.configuration, model.visibility)}
          </Fact>
          <Fact name="Network access">{egressText(version.configuration)}</Fact>
        </>
      )}
      {latest && owns && (
        <Fact name="To change these">
          <a href={modelAddress(model, "/versions/new")}>Publish a version</a>
        </Fact>
      )}
      {categories.length > 0 && (
        <Fact name="Categories">
          <ul class="flow">
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

/** Labeled with the host: a whole URL is too long for the sidebar. */
const Link = ({ name, address }: { name: string; address: string | null }) =>
  address === null ? null : (
    <Fact name={name}>
      <a href={address} rel="nofollow ugc noopener">
        {new URL(address).host}
      </a>
    </Fact>
  );
