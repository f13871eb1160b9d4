/** Changes of a version for its callers, against the version before. */
import {
  type Difference,
  type Fact,
  type FieldChange,
  schemaChanges,
} from "../../domain/schemas/schema-diff.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import type { ComparedVersion } from "../../storage/models/versions.ts";

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
    <section class="box changes" aria-labelledby="changes">
      <h3 id="changes">Changes since version {before.number}</h3>
      {isSame && <p class="hint">It takes and returns the same.</p>}
      <FieldChanges title="Input" changes={input} />
      <FieldChanges title="Output" changes={output} />
      {was !== is && (
        <p>{is ? "Its output is streamed in parts now." : "Its output is no longer streamed."}</p>
      )}
    </section>
  );
}

const changesOf = (before: Schemas, after: Schemas, side: "input" | "output") =>
  schemaChanges(versionSchema(before, side), versionSchema(after, side));

const FieldChanges = ({ title, changes }: { title: string; changes: FieldChange[] }) =>
  changes.length === 0 ? null : (
    <>
      <h4>{title}</h4>
      <ul>
        {changes.map(({ name, change, differences }) => (
          <li>
            <span class={`change ${change}`}>{change}</span>
            <span>
              {name === "" ? "all of it" : <code>{name}</code>}{" "}
              <span class="differences">
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
export function ChangedNames({ before, after }: { before: Schemas; after: Schemas }) {
  const changes = changesOf(before, after, "input");
  const output = changesOf(before, after, "output").length > 0;
  if (changes.length === 0 && !output) return <>None</>;
  const shown = changes.slice(0, MAX_NAMES);
  return (
    <ul class="changed-names">
      {shown.map(({ name, change }) => (
        <li>
          <span class={`change ${change}`}>{change}</span>{" "}
          {name === "" ? "input" : <code>{name}</code>}
        </li>
      ))}
      {changes.length > MAX_NAMES && <li>and {changes.length - MAX_NAMES} more</li>}
      {output && (
        <li>
          <span class="change changed">changed</span> output
        </li>
      )}
    </ul>
  );
}

const MAX_NAMES = 4;
