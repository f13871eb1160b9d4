/** The page of a version: configuration and schemas. */
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { Viewer } from "../context.ts";
import type { Draft } from "../form.ts";
import { Problem, Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy, Time } from "../ui/parts.tsx";
import { COMPATIBILITIES } from "./compatibilities.ts";
import { Detail } from "./detail.tsx";
import { egressText } from "./egress.ts";
import { isOwner, ModelHeader, modelAddress } from "./header.tsx";
import { isolationText } from "./isolation.ts";
import { SchemaView } from "./schema-view.tsx";

interface Props {
  model: DetailedModelRow;
  version: VersionRow;
  viewer: Viewer | undefined;
  draft: Draft;
}

export function VersionPage({ model, version, viewer, draft }: Props) {
  const { number, schemas, release_notes } = version;
  return (
    <>
      <ModelHeader model={model} viewer={viewer} page="/versions" />
      <Problem draft={draft} />
      <div class="title-row">
        <h2>
          Version {number}{" "}
          {number === model.latest_version?.number && <span class="badge">latest</span>}
        </h2>
        <a class="button quiet" href={modelAddress(model, `/playground?version=${number}`)}>
          Try it
        </a>
      </div>
      {release_notes && <p>{release_notes}</p>}
      {version.awaits && (
        <p class="hint">
          Waiting for a first start: its image does not say what it takes and answers. Run it once,
          and the runner reports it.
        </p>
      )}
      <dl class="details side-by-side">
        <Detail name="Published">
          <Time at={version.created_at} />
        </Detail>
        <Detail name="Reference">
          <Copy text={`${model.owner.username}/${model.name}:${number}`} />
        </Detail>
        <Detail name="Image digest">
          <Copy text={version.container_image_digest} />
        </Detail>
        {version.compressed_size !== null && (
          <Detail name="Image size">{imageSize(version.compressed_size)}</Detail>
        )}
        {version.platform !== null && <Detail name="Platform">{version.platform}</Detail>}
        <Configuration model={model} version={version} />
      </dl>
      <SchemaView title="Input" schema={versionSchema(schemas, "input")} />
      <SchemaView title="Output" schema={versionSchema(schemas, "output")} />
      <p class="hint">
        {schemas.prediction.stream_output
          ? "Output is streamed in parts."
          : "Output is returned as a whole at the end."}
      </p>
      {isOwner(model, viewer) && <Deletion model={model} number={number} />}
    </>
  );
}

function Configuration({ model, version }: Pick<Props, "model" | "version">) {
  const { interface: spoken = "cog", variable_names = [], ...rest } = version.configuration;
  const targets = [...version.weights, ...version.weight_files].map(({ target }) => target);
  const conventions = COMPATIBILITIES.filter(({ flag }) => version.compatibilities[flag]);
  return (
    <>
      {rest.image !== undefined && (
        <Detail name="Repository">
          <code>{rest.image}</code>
        </Detail>
      )}
      <Detail name="Hardware">
        {rest.hardware_identifier ?? model.hardware?.name ?? DEFAULT_HARDWARE}
      </Detail>
      <Detail name="Container interface">
        {spoken === "cog" ? "Cog" : "OpenAI-compatible server"}
      </Detail>
      <Detail name="Compatible APIs">
        {["Auspex API", ...conventions.map(({ name }) => name)].join(", ")}
      </Detail>
      <Detail name="Container sharing">{isolationText(rest)}</Detail>
      <Detail name="Network access">{egressText(rest)}</Detail>
      {rest.timeout_seconds !== undefined && (
        <Detail name="Timeout">{seconds(rest.timeout_seconds)}</Detail>
      )}
      {rest.max_concurrency !== undefined && (
        <Detail name="Concurrency">{`${rest.max_concurrency} per container`}</Detail>
      )}
      {rest.idle_seconds !== undefined && (
        <Detail name="Idle time">{seconds(rest.idle_seconds)}</Detail>
      )}
      {variable_names.length > 0 && (
        <Detail name="Variables">
          <code>{variable_names.join(", ")}</code>
        </Detail>
      )}
      {targets.length > 0 && (
        <Detail name="Weights">
          <code>{targets.join(", ")}</code>
        </Detail>
      )}
    </>
  );
}

/** As registries tell it: of what is downloaded. */
function imageSize(bytes: number): string {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

const seconds = (count: number) => `${count.toLocaleString("en")} s`;

const Deletion = ({ model, number }: { model: DetailedModelRow; number: number }) => (
  <details class="danger-zone">
    <summary>Delete version {number}</summary>
    <p>Nobody can run it anymore, and its number is not reused. Its predictions are kept.</p>
    <Form
      action={modelAddress(model, `/versions/${number}/delete`)}
      data-confirm={`Delete version ${number} of ${model.name}?`}
    >
      <Submit kind="danger">Delete version {number}</Submit>
    </Form>
  </details>
);
