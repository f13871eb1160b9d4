/** One version: what it is, what it takes and gives, how it runs. */
import { schemaOf } from "../../domain/schemas/version-schemas.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { Viewer } from "../context.ts";
import type { Draft } from "../form.ts";
import { Problem, Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy, Time } from "../ui/parts.tsx";
import { COMPATIBILITIES } from "./compatibilities.ts";
import { egressText } from "./egress.ts";
import { Fact } from "./facts.tsx";
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
      <dl class="facts side-by-side">
        <Fact name="Published">
          <Time at={version.created_at} />
        </Fact>
        <Fact name="Name for calls">
          <Copy text={`${model.owner.username}/${model.name}:${number}`} />
        </Fact>
        <Fact name="Digest of its image">
          <Copy text={version.container_image_digest} />
        </Fact>
        <Configuration model={model} version={version} />
      </dl>
      <SchemaView title="Input" schema={schemaOf(schemas, "input")} />
      <SchemaView title="Output" schema={schemaOf(schemas, "output")} />
      <p class="hint">
        {schemas.prediction.stream_output
          ? "Output comes in parts, as they are made."
          : "Output comes as a whole, at the end."}
      </p>
      {isOwner(model, viewer) && <Deletion model={model} number={number} />}
    </>
  );
}

function Configuration({ model, version }: Pick<Props, "model" | "version">) {
  const { interface: spoken = "cog", variable_names = [], ...rest } = version.configuration;
  const conventions = COMPATIBILITIES.filter(({ flag }) => version.compatibilities[flag]);
  return (
    <>
      {rest.image !== undefined && (
        <Fact name="Repository">
          <code>{rest.image}</code>
        </Fact>
      )}
      <Fact name="Hardware">
        {rest.hardware_identifier ?? model.hardware?.name ?? DEFAULT_HARDWARE}
      </Fact>
      <Fact name="Its container speaks">
        {spoken === "cog" ? "Cog" : "the convention of OpenAI’s servers"}
      </Fact>
      <Fact name="Can be called by">
        {["Auspex’s own API", ...conventions.map(({ name }) => name)].join(", ")}
      </Fact>
      <Fact name="Container shared with">{isolationText(rest)}</Fact>
      <Fact name="Container reaches">{egressText(rest)}</Fact>
      {rest.timeout_seconds !== undefined && (
        <Fact name="A run may take">{seconds(rest.timeout_seconds)}</Fact>
      )}
      {rest.max_concurrency !== undefined && (
        <Fact name="Runs at a time">{`${rest.max_concurrency} in one container`}</Fact>
      )}
      {rest.idle_seconds !== undefined && (
        <Fact name="Kept without work">{seconds(rest.idle_seconds)}</Fact>
      )}
      {variable_names.length > 0 && (
        <Fact name="Variables">
          <code>{variable_names.join(", ")}</code>
        </Fact>
      )}
    </>
  );
}

const seconds = (count: number) => `${count.toLocaleString("en")} s`;

const Deletion = ({ model, number }: { model: DetailedModelRow; number: number }) => (
  <details class="danger-zone">
    <summary>Delete version {number}</summary>
    <p>Nobody can run it any more, and its number is not given again. What it has made stays.</p>
    <Form
      action={modelAddress(model, `/versions/${number}/delete`)}
      data-confirm={`Delete version ${number} of ${model.name}?`}
    >
      <Submit kind="danger">Delete version {number}</Submit>
    </Form>
  </details>
);
