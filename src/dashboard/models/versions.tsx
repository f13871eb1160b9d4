/** The versions of a model, newest first. */

import {
  type Difference,
  type Fact,
  type FieldChange,
  schemaChanges,
} from "../../domain/schemas/schema-diff.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import type { VersionRuns } from "../../services/models/versions.ts";
import type { Page } from "../../services/pagination.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type {
  ComparedVersion,
  ListedSchemas,
  VersionSummaryRow,
} from "../../storage/models/versions.ts";
import type { Viewer } from "../context.ts";
import { NoVersion } from "../publish/no-version.tsx";
import { duration } from "../ui/duration.ts";
import { mayWrite, modelAddress, referenceOf } from "../ui/model-header.tsx";
import { Pager, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

export const VersionsPage = ({
  model,
  viewer,
  versions,
  runs,
  compared,
}: {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
  versions: Page<VersionSummaryRow>;
  /** Figures of the viewer's runs, by version; undefined: nobody is logged in. */
  runs: Map<number, VersionRuns> | undefined;
  /** Schemas of the page's versions and of the one before them, newest first. */
  compared: ListedSchemas[];
}) => {
  const { latest_version: latest } = model;
  return (
    <>
      {latest ? (
        <>
          <div class="bar spread title-row">
            <h2>Versions</h2>
            {mayWrite(model, viewer) && (
              <a class="button primary" href={modelAddress(model, "/versions/new")}>
                New version
              </a>
            )}
          </div>
          <div class="scroll">
            <Table
              class="stacked"
              columns={[
                "Version",
                "Release notes",
                "Schema changes",
                ...(runs ? ["Runs", "Failed", "Median run time"] : []),
                "Published",
              ]}
            >
              {versions.items.map(({ number, release_notes, created_at, awaits, ...version }) => (
                <tr>
                  <th scope="row">
                    <a href={modelAddress(model, `/versions/${number}`)}>{number}</a>{" "}
                    <VersionBadges model={model} number={number} />{" "}
                    {awaits && <span class="badge">not started yet</span>}
                    {version.container_image_digest === "" ? (
                      <span class="badge">remote</span>
                    ) : (
                      !awaits && version.size === 0 && <span class="badge">not started yet</span>
                    )}
                  </th>
                  <td class="notes" dir="auto" data-label="Release notes">
                    {release_notes || "—"}
                  </td>
                  <td data-label="Schema changes">
                    <ChangesOf number={number} compared={compared} />
                  </td>
                  {runs && <Runs model={model} of={runs.get(number)} />}
                  <td data-label="Published">
                    <Time at={created_at} />
                  </td>
                </tr>
              ))}
            </Table>
          </div>
          {viewer && runs && (
            <p class="hint">
              Figures are of the last 1,000 runs of this model by{" "}
              {viewer.account.kind === "user" ? "you" : viewer.account.username}.
            </p>
          )}
          <Pager previous={versions.previous_url} next={versions.next_url} />
        </>
      ) : (
        <NoVersion model={model} viewer={viewer} />
      )}
    </>
  );
};

interface RunsProps {
  model: DetailedModelRow;
  /** Undefined: no run is of this version. */
  of: VersionRuns | undefined;
}

const Runs = ({ model, of }: RunsProps) => (
  <>
    <td data-label="Runs">
      {of ? <a href={`/predictions?model=${referenceOf(model)}`}>{of.runs}</a> : 0}
    </td>
    <td data-label="Failed">{of?.failed ? <strong>{of.failed}</strong> : 0}</td>
    <td data-label="Median run time">
      {of && of.median_seconds !== null ? duration(of.median_seconds) : "—"}
    </td>
  </>
);

export const VersionBadges = ({ model, number }: { model: DetailedModelRow; number: number }) => (
  <>
    {number === model.pinned?.number && <span class="badge">default</span>}{" "}
    {number === model.latest_version?.number && <span class="badge">latest</span>}
  </>
);

function ChangesOf({ number, compared }: { number: number; compared: ListedSchemas[] }) {
  const at = compared.findIndex((one) => one.number === number);
  const [version, before] = at < 0 ? [] : compared.slice(at, at + 2);
  if (!version?.schemas || !before?.schemas) return <>—</>;
  if (!isComparable(version) || !isComparable(before)) return <>—</>;
  return <ChangedNames before={before.schemas} after={version.schemas} />;
}

/** Whether a version can be compared: one that waits for its first start has no schemas yet. */
export const isComparable = ({ awaits }: Pick<ComparedVersion, "awaits">) =>
  !awaits?.includes("schemas");

/** Lists of choices and long defaults are cut. */
const MAX_CHARS = 80;

export function Changes({ before, after }: { before: ComparedVersion; after: Schemas }) {
  const input = changesOf(before.schemas, after, "input");
  const output = changesOf(before.schemas, after, "output");
  const [was, is] = [before.schemas.prediction.stream_output, after.prediction.stream_output];
  const isSame = input.length + output.length === 0 && was === is;
  return (
    <section class="panel spaced changes" aria-labelledby="changes">
      <h3 id="changes">Changes since version {before.number}</h3>
      {isSame && <p class="hint">Schema changes: none</p>}
      <FieldChanges title="Input" changes={input} />
      <FieldChanges title="Output" changes={output} />
      {was !== is && <p>{is ? "Output is now streamed." : "Output is no longer streamed."}</p>}
    </section>
  );
}

const changesOf = (before: Schemas, after: Schemas, side: "input" | "output") =>
  schemaChanges(versionSchema(before, side), versionSchema(after, side));

const FieldChanges = ({ title, changes }: { title: string; changes: FieldChange[] }) =>
  changes.length === 0 ? null : (
    <>
      <h4>{title}</h4>
      <ul class="pairs">
        {changes.map(({ name, change, differences }) => (
          <li>
            <Change kind={change} />
            <span>
              {name === "" ? "whole schema" : <code>{name}</code>}{" "}
              <span class="quiet">
                {differences
                  .map((one) => (change === "changed" ? changeText(one) : factText(one)))
                  .join(", ")}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </>
  );

const NAMES: Partial<Record<Fact, string>> = {
  exclusiveMinimum: "above",
  exclusiveMaximum: "below",
  multipleOf: "step",
  minLength: "minimum length",
  maxLength: "maximum length",
  minItems: "minimum items",
  maxItems: "maximum items",
};

function changeText({ fact, before, after }: Difference): string {
  if (fact === "required") return after === true ? "now required" : "no longer required";
  return `${NAMES[fact] ?? fact} ${valueText(fact, before)} → ${valueText(fact, after)}`;
}

function factText({ fact, before, after }: Difference): string {
  if (fact === "required") return "required";
  const value = valueText(fact, after ?? before);
  return fact === "type" ? value : `${NAMES[fact] ?? fact} ${value}`;
}

function valueText(fact: Fact, value: Json | undefined): string {
  if (value === undefined) return "none";
  const text = fact === "type" && typeof value === "string" ? value : JSON.stringify(value);
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}

/** The short form in the list of versions: only the names. */
function ChangedNames({ before, after }: { before: Schemas; after: Schemas }) {
  const changes = changesOf(before, after, "input");
  const output = changesOf(before, after, "output").length > 0;
  if (changes.length === 0 && !output) return <>None</>;
  const shown = changes.slice(0, MAX_NAMES);
  return (
    <ul class="small">
      {shown.map(({ name, change }) => (
        <li>
          <Change kind={change} /> {name === "" ? "input" : <code>{name}</code>}
        </li>
      ))}
      {changes.length > MAX_NAMES && <li>and {changes.length - MAX_NAMES} more</li>}
      {output && (
        <li>
          <Change kind="changed" /> output
        </li>
      )}
    </ul>
  );
}

const MAX_NAMES = 4;

const SIGNS = { added: "+", removed: "−", changed: "~" };

const Change = ({ kind }: { kind: keyof typeof SIGNS }) => (
  <span class={`small strong ${kind}`}>{`${SIGNS[kind]} ${kind}`}</span>
);
