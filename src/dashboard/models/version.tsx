/** The page of a version: configuration and schemas. */

import type { Child } from "hono/jsx";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import type { Json } from "../../protocol/common.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { RemoteApi } from "../../protocol/model.ts";
import type { VersionPrices } from "../../protocol/prices.ts";
import { describeImage } from "../../services/images/read-image.ts";
import { listVersionPrices } from "../../services/models/version-prices.ts";
import { readVersion, readVersionBefore } from "../../services/models/versions.ts";
import { findImagePlaces } from "../../services/runners/run-estimate.ts";
import { type DetailedModelRow, defaultVersion } from "../../storage/models/models.ts";
import type { ComparedVersion, VersionRow } from "../../storage/models/versions.ts";
import type { PageContext, Viewer } from "../context.ts";
import { About, Fields, Type } from "../docs/reference/schema.tsx";
import type { Draft } from "../form.ts";
import { COMPATIBILITIES, egressText, isolationText } from "../ui/configuration.ts";
import { Problem, Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import {
  isOwner,
  modelAddress,
  modelOf,
  referenceOf,
  renderModel,
  renderVersionNotFound,
} from "../ui/model-header.tsx";
import { Copy, Fact, Time } from "../ui/parts.tsx";
import { displaySchema } from "./display-schema.ts";
import { ImageDetails, ImageNotice, ImageParts, type VersionImage } from "./image.tsx";
import { Prices } from "./prices.tsx";
import { Changes, isComparable, VersionBadges } from "./versions.tsx";

/** All of them (services/models/version-prices.ts): the owner's and the operators'. */
const MAX_PRICES = 200;

interface Props {
  model: DetailedModelRow;
  version: VersionRow;
  before: ComparedVersion | undefined;
  image: VersionImage;
  viewer: Viewer | undefined;
  origin: string;
  draft: Draft;
  prices: VersionPrices[];
}

/** @throws ProblemError not_found */
export async function renderVersion(c: PageContext, number: number, draft: Draft) {
  const { services, viewer, origin } = c.var;
  const { owner = "", name = "" } = c.req.param();
  const [model, found] = await Promise.all([
    modelOf(c),
    readVersion(services, viewer?.caller, owner, name, number).catch((error: unknown) => ({
      error,
    })),
  ]);
  if ("error" in found) return renderVersionNotFound(c, model, number, found.error);
  const { version } = found;
  const namesRunners = viewer?.operator ?? false;
  const seesPlaces = viewer !== undefined && (namesRunners || isOwner(model, viewer));
  const content = async () => {
    const [described, before, places, prices] = await Promise.all([
      describeImage(services, viewer?.caller, model, version),
      readVersionBefore(services, version),
      seesPlaces ? findImagePlaces(services, viewer.caller, model, version) : undefined,
      listVersionPrices(services, viewer?.caller, [owner, name, number], {
        ...{ cursor: undefined, size: MAX_PRICES, url: c.req.url },
      }),
    ]);
    const image = { described, places: seesPlaces ? (places ?? null) : undefined, namesRunners };
    return (
      <VersionContent
        {...{ model, version, before, image, viewer, origin, draft }}
        prices={prices.items}
      />
    );
  };
  const title = `${referenceOf(model)}:${number}`;
  return renderModel(c, { model, page: "/versions", version, title }, content());
}

function VersionContent(props: Props) {
  const { model, version, before, image, viewer, origin, draft, prices } = props;
  const { number, schemas, release_notes } = version;
  return (
    <>
      <Problem draft={draft} />
      <div class="bar spread title-row">
        <h2>
          Version {number} <VersionBadges model={model} number={number} />
        </h2>
        <span class="bar">
          {isOwner(model, viewer) && number !== defaultVersion(model)?.number && (
            <Form action={modelAddress(model, `/versions/${number}/default`)}>
              <Submit kind="quiet">Make default</Submit>
            </Form>
          )}
          <a class="button quiet" href={modelAddress(model, `?version=${number}`)}>
            Try it
          </a>
        </span>
      </div>
      {release_notes && <p dir="auto">{release_notes}</p>}
      <ImageNotice image={image} isOwner={isOwner(model, viewer)} />
      {version.awaits && (
        <p class="warning-note">
          <strong>Not started yet.</strong> The input and output are detected on the first run.{" "}
          <a href={modelAddress(model, `?version=${number}`)}>Run it once</a> to complete this page.
        </p>
      )}
      <dl class="details ruled pairs">
        <Fact name="Published">
          <Time at={version.created_at} />
        </Fact>
        <Fact name="Reference">
          <Copy text={`${model.owner.username}/${model.name}:${number}`} />
        </Fact>
        {!version.configuration.remote && (
          <ImageDetails model={model} version={version} image={image} origin={origin} />
        )}
        <Configuration model={model} version={version} />
      </dl>
      <Prices {...{ model, number, prices, viewer, draft }} />
      {before && isComparable(before) && isComparable(version) && (
        <Changes before={before} after={schemas} />
      )}
      <SchemaView title="Input" schema={versionSchema(schemas, "input")} />
      <SchemaView title="Output" schema={versionSchema(schemas, "output")} />
      <p class="hint">
        {schemas.prediction.stream_output
          ? "Streams its output."
          : "Returns its output when the run ends."}
      </p>
      {image.described.kind === "open" && <ImageParts content={image.described.content} />}
      {isOwner(model, viewer) && <Deletion model={model} number={number} />}
    </>
  );
}

function Configuration({ model, version }: Pick<Props, "model" | "version">) {
  const { interface: spoken = "cog", variable_names = [], ...rest } = version.configuration;
  const targets = [...version.weights, ...version.weight_files].map(({ target }) => target);
  const conventions = COMPATIBILITIES.filter(({ flag }) => version.compatibilities[flag]);
  const hardware = rest.hardware_identifier ?? model.hardware?.name ?? DEFAULT_HARDWARE;
  const { remote } = rest;
  const apis: [name: string, value: Child] = [
    "Compatible APIs",
    ["Auspex API", ...conventions.map(({ name }) => name)].join(", "),
  ];
  const remoteFacts: [name: string, value: Child][] = [
    ["Runs at", remote && <code>{remote.url}</code>],
    ["API of the host", remote && REMOTE_APIS[remote.api]],
    ["Model there", remote && <code>{remote.model}</code>],
    ["Variable with its key", remote?.key_variable && <code>{remote.key_variable}</code>],
    ["After an interruption", remote && (remote.repeatable ? "Sent again" : "Not sent again")],
    apis,
    ["Timeout", seconds(rest.timeout_seconds)],
  ];
  const containerFacts: [name: string, value: Child][] = [
    ["Repository", rest.image && <code>{rest.image}</code>],
    ["Hardware", <bdi>{hardware}</bdi>],
    ["Container interface", spoken === "cog" ? "Cog" : "OpenAI-compatible server"],
    apis,
    ["Container sharing", isolationText(rest, model.visibility)],
    ["Network access", egressText(rest)],
    ["Timeout", seconds(rest.timeout_seconds)],
    ["Concurrency", rest.max_concurrency && `${rest.max_concurrency} per container`],
    ["Idle time", seconds(rest.idle_seconds)],
    ["Listen timeout", seconds(rest.listen_timeout_seconds)],
    ["Variables", variable_names.length > 0 && <code>{variable_names.join(", ")}</code>],
    ["Weights", targets.length > 0 && <code>{targets.join(", ")}</code>],
    ["Traces", rest.trace_content && "Have inputs and outputs of the owner's own runs"],
    ["Inputs", rest.local_only && "Never leave the machines of this installation"],
  ];
  const facts = remote ? remoteFacts : containerFacts;
  return <>{facts.map(([name, value]) => value && <Fact name={name}>{value}</Fact>)}</>;
}

const REMOTE_APIS: Record<RemoteApi, string> = {
  openai: "OpenAI",
  anthropic: "Anthropic",
  replicate: "Replicate",
};

const seconds = (count: number | undefined) =>
  count === undefined ? undefined : `${count.toLocaleString("en")} s`;

const Deletion = ({ model, number }: { model: DetailedModelRow; number: number }) => (
  <details class="panel measure danger-zone">
    <summary>Delete version {number}</summary>
    <p>The version can no longer be run. Its number is not reused, and its predictions are kept.</p>
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
      <p class="quiet small">
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
