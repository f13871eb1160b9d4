/** The page of a version: configuration and schemas. */
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import type { Json } from "../../protocol/common.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { VersionEstimate } from "../../services/runners/run-estimate.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { ComparedVersion, VersionRow } from "../../storage/models/versions.ts";
import type { Viewer } from "../context.ts";
import { About, Fields, Type } from "../docs/reference/schema.tsx";
import type { Draft } from "../form.ts";
import { Problem, Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy, Time } from "../ui/parts.tsx";
import { Changes, isComparable } from "./changes.tsx";
import { COMPATIBILITIES } from "./compatibilities.ts";
import { Detail } from "./detail.tsx";
import { displaySchema } from "./display-schema.ts";
import { egressText } from "./egress.ts";
import { isOwner, ModelHeader, modelAddress } from "./header.tsx";
import { ImageDetails, ImageNotice, ImageParts, type VersionImage } from "./image.tsx";
import { isolationText } from "./isolation.ts";

export interface VersionPageProps {
  model: DetailedModelRow;
  version: VersionRow;
  /** The version before it. */
  before: ComparedVersion | undefined;
  image: VersionImage;
  viewer: Viewer | undefined;
  estimate: VersionEstimate | undefined;
  origin: string;
  draft: Draft;
}

export function VersionPage(props: VersionPageProps) {
  const { model, version, before, image, viewer, estimate, origin, draft } = props;
  const { number, schemas, release_notes } = version;
  return (
    <>
      <ModelHeader model={model} viewer={viewer} page="/versions" estimate={estimate} />
      <Problem draft={draft} />
      <div class="bar spread title-row">
        <h2>
          Version {number}{" "}
          {number === model.latest_version?.number && <span class="badge">latest</span>}
        </h2>
        <a class="button quiet" href={modelAddress(model, `?version=${number}`)}>
          Try it
        </a>
      </div>
      {release_notes && <p dir="auto">{release_notes}</p>}
      <ImageNotice image={image} isOwner={isOwner(model, viewer)} />
      {version.awaits && (
        <p class="warning-note">
          <strong>Waiting for a first start.</strong> Its image does not say what it takes and
          answers. <a href={modelAddress(model, `?version=${number}`)}>Run it once</a>: when that
          run ends, its runner reports it, and this page is complete.
        </p>
      )}
      <dl class="details side-by-side">
        <Detail name="Published">
          <Time at={version.created_at} />
        </Detail>
        <Detail name="Reference">
          <Copy text={`${model.owner.username}/${model.name}:${number}`} />
        </Detail>
        <ImageDetails model={model} version={version} image={image} origin={origin} />
        <Configuration model={model} version={version} />
      </dl>
      {before && isComparable(before) && isComparable(version) && (
        <Changes before={before} after={schemas} />
      )}
      <SchemaView title="Input" schema={versionSchema(schemas, "input")} />
      <SchemaView title="Output" schema={versionSchema(schemas, "output")} />
      <p class="hint">
        {schemas.prediction.stream_output
          ? "Output is streamed in parts."
          : "Output is returned as a whole at the end."}
      </p>
      {image.described.kind === "open" && <ImageParts content={image.described.content} />}
      {isOwner(model, viewer) && <Deletion model={model} number={number} />}
    </>
  );
}

function Configuration({ model, version }: Pick<VersionPageProps, "model" | "version">) {
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
        <bdi>{rest.hardware_identifier ?? model.hardware?.name ?? DEFAULT_HARDWARE}</bdi>
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
      {rest.listen_timeout_seconds !== undefined && (
        <Detail name="Listen timeout">{seconds(rest.listen_timeout_seconds)}</Detail>
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

const seconds = (count: number) => `${count.toLocaleString("en")} s`;

const Deletion = ({ model, number }: { model: DetailedModelRow; number: number }) => (
  <details class="box danger-zone">
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

/** The schema of a model's input or output, readable and as JSON. */
export function SchemaView({ title, schema }: { title: string; schema: Json }) {
  const { schema: display, complete } = displaySchema(schema);
  return (
    <section class="schema">
      <h3>{title}</h3>
      <p class="type">
        <Type schema={display} />
      </p>
      <About schema={display} Text={InlineCode} />
      <Fields schema={display} Text={InlineCode} />
      {!complete && (
        <p class="hint">This schema is too large to show in full. See its JSON below.</p>
      )}
      <details>
        <summary>{title} as JSON</summary>
        <Copy lines text={JSON.stringify(schema, null, 2)} />
      </details>
    </section>
  );
}

/** Descriptions written by users: inline code, but no links. */
const InlineCode = ({ text }: { text: string }) => (
  <>{text.split(/`([^`]+)`/).map((part, n) => (n % 2 === 1 ? <code>{part}</code> : part))}</>
);
