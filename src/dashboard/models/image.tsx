import type { ShownLabel } from "../../domain/images/shown-labels.ts";
import { byteText } from "../../lib/text.ts";
import type { DescribedImage, ImageContent } from "../../services/images/read-image.ts";
import type { ImagePlaces } from "../../services/runners/run-estimate.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { repositoryAt } from "../publish/commands.ts";
import { Copy, Fact } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

export interface VersionImage {
  described: DescribedImage;
  /** For its owner and for operators; null: unknown, since its queue did not answer. */
  places: ImagePlaces | null | undefined;
  namesRunners: boolean;
}

interface Props {
  model: DetailedModelRow;
  version: VersionRow;
  image: VersionImage;
}

export const ImageDetails = ({
  model: { owner, name },
  version: { container_image_digest: digest, compressed_size, size, platform },
  image: { described, places, namesRunners },
  origin,
}: Props & { origin: string }) => (
  <>
    <Fact name="Image digest">
      <Copy text={digest} />
    </Fact>
    {described.kind === "open" && (
      <Fact name="Download">
        <Copy text={`docker pull ${repositoryAt(origin, owner.username, name)}@${digest}`} />
      </Fact>
    )}
    <ImageSize compressed={compressed_size} unpacked={size} />
    {platform !== null && <Fact name="Platform">{platform}</Fact>}
    {places !== undefined && (
      <Fact name="Already on">
        <Places places={places} namesRunners={namesRunners} />
      </Fact>
    )}
  </>
);

/** @param unpacked bytes; 0: no runner has reported them yet */
function ImageSize({ compressed, unpacked }: { compressed: number | null; unpacked: number }) {
  const sizes = [
    ...(compressed === null ? [] : [`${byteText(compressed)} compressed`]),
    ...(unpacked > 0 ? [`${byteText(unpacked)} unpacked`] : []),
  ];
  return sizes.length === 0 ? null : <Fact name="Image size">{sizes.join(", ")}</Fact>;
}

function Places({
  places,
  namesRunners,
}: Pick<VersionImage, "namesRunners"> & { places: ImagePlaces | null }) {
  if (places === null) return <>Not available right now</>;
  const { runners, more } = places;
  if (runners.length + more === 0) return <>No runners. The first run downloads it.</>;
  if (namesRunners) {
    return (
      <>
        <a href="/fleet">
          {runners.map(({ name, isWarm }) => (isWarm ? `${name} (running)` : name)).join(", ")}
        </a>
        {more > 0 && ` and ${more} more`}
      </>
    );
  }
  const warm = runners.filter(({ isWarm }) => isWarm).length;
  const all = runners.length + more;
  return <>{`${all === 1 ? "1 runner" : `${all} runners`}, ${warm} warm`}</>;
}

export const ImageNotice = ({ image, isOwner }: { image: VersionImage; isOwner: boolean }) =>
  image.described.kind !== "gone" ? null : (
    <p class="problem" role="alert">
      The image is no longer in the registry. Only runners that already have it can run it.{" "}
      {isOwner
        ? "Push the same image again, or publish another version."
        : "Ask the owner to push it again."}
    </p>
  );

export const ImageParts = ({ content }: { content: ImageContent | undefined }) => (
  <section class="image-parts">
    <h3>Image</h3>
    {content ? (
      <>
        <Layers content={content} />
        {content.labels.length > 0 && <Labels content={content} />}
      </>
    ) : (
      <p class="hint">
        The image is too large to list here. Use <code>docker pull</code> to inspect it.
      </p>
    )}
  </section>
);

const Layers = ({ content: { layers, moreLayers } }: { content: ImageContent }) => (
  <details>
    <summary>{count(layers.length + moreLayers, "layer")}</summary>
    <Table columns={["Digest", { name: "Compressed", is: "number" }]}>
      {layers.map(({ digest, size }) => (
        <tr>
          <td>
            <code>{digest}</code>
          </td>
          <td class="number">{byteText(size)}</td>
        </tr>
      ))}
    </Table>
    {moreLayers > 0 && <p class="hint">And {count(moreLayers, "layer")} more.</p>}
  </details>
);

const Labels = ({ content: { labels, moreLabels } }: { content: ImageContent }) => (
  <details>
    <summary>{count(labels.length + moreLabels, "label")}</summary>
    <dl class="details ruled pairs">
      {labels.map((label) => (
        <Fact name={label.name}>
          <LabelValue label={label} />
        </Fact>
      ))}
    </dl>
    {moreLabels > 0 && <p class="hint">And {count(moreLabels, "label")} more.</p>}
  </details>
);

const MAX_SHOWN = 160;

function LabelValue({ label: { value, length, isOpenapi } }: { label: ShownLabel }) {
  if (isOpenapi)
    return (
      <>{`OpenAPI document (${length.toLocaleString("en")} characters). Its schemas are shown above.`}</>
    );
  if (length <= MAX_SHOWN) return <code>{value}</code>;
  return (
    <details>
      <summary>
        <code>{`${value.slice(0, MAX_SHOWN)}…`}</code>
      </summary>
      <pre tabindex={0}>{value}</pre>
      {value.length < length && (
        <p class="hint">{`The first ${value.length.toLocaleString("en")} of ${length.toLocaleString("en")} characters.`}</p>
      )}
    </details>
  );
}

const count = (number: number, what: string) =>
  `${number.toLocaleString("en")} ${number === 1 ? what : `${what}s`}`;
