/** A model's playground: input form, output and code samples. */

import type { Input } from "../../domain/schemas/input-form-values.ts";
import type { SchemaPart } from "../../domain/schemas/json-schema-shape.ts";
import type { PredictionView } from "../../services/predictions/prediction-view.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { Viewer } from "../context.ts";
import type { Draft } from "../form.ts";
import { ModelHeader, modelAddress } from "../models/header.tsx";
import { PredictionPanel } from "../prediction-view/view.tsx";
import { controlAttributes, Problem } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Empty } from "../ui/parts.tsx";
import { codeSamples } from "./calls.ts";
import { Code } from "./code.tsx";
import { JSON_FIELD, SWITCH_BUTTON, VERSION_FIELD } from "./control-names.ts";
import { Area, Control } from "./controls.tsx";
import type { PlaygroundInput } from "./input.ts";

export interface PlaygroundState {
  model: DetailedModelRow;
  version: VersionRow;
  /** Version numbers, newest first. */
  versions: number[];
  form: PlaygroundInput;
  /** The input of the valid fields. */
  input: Input;
  /** The schema that client code validates with; undefined when it cannot be used. */
  shape: SchemaPart | undefined;
  /** Why the prediction was rejected. */
  problem?: string | undefined;
  /** A note about the prediction that is shown. */
  note?: string | undefined;
  view?: PredictionView | undefined;
  tab: "output" | "code";
}

interface Props {
  play: PlaygroundState;
  viewer: Viewer;
  origin: string;
}

export function PlaygroundPage({ play, viewer, origin }: Props) {
  const { model, version, form, shape, view, input } = play;
  const reference = `${model.owner.username}/${model.name}`;
  // The latest version is not pinned: code samples then always run the latest.
  const number = version.number === model.latest_version?.number ? undefined : version.number;
  const { compatibilities } = version;
  return (
    <>
      <ModelHeader model={model} viewer={viewer} page="/playground" />
      <div
        class="playground"
        data-playground={modelAddress(model, "/playground")}
        data-model={reference}
        data-version={version.number}
        data-pinned={number}
        data-compatibilities={JSON.stringify(compatibilities)}
        data-fields={JSON.stringify(form.fields.map(({ text, ...field }) => field))}
        data-shape={shape && JSON.stringify(shape)}
      >
        <section class="playground-input" aria-labelledby="playground-input">
          <div class="playground-head">
            <h2 id="playground-input">Input</h2>
            <VersionSelect play={play} />
          </div>
          <InputForm play={play} />
        </section>
        <div class="playground-result">
          <nav class="tabs" aria-label="Result">
            {TABS.map(([tab, name]) => (
              <a
                href={addressIn(play, { tab })}
                aria-current={tab === play.tab ? "page" : undefined}
                data-tab={tab}
              >
                {name}
              </a>
            ))}
          </nav>
          <section aria-label="Output" data-panel="output" hidden={play.tab !== "output"}>
            {view ? (
              <PredictionPanel view={view} host={new URL(origin).host} />
            ) : (
              <NoPrediction reference={reference} />
            )}
          </section>
          <section aria-label="Code" data-panel="code" hidden={play.tab !== "code"}>
            <Code
              calls={codeSamples({
                origin,
                model: reference,
                version: number,
                input,
                compatibilities,
              })}
            />
          </section>
        </div>
      </div>
    </>
  );
}

const TABS: [PlaygroundState["tab"], string][] = [
  ["output", "Output"],
  ["code", "Code"],
];

/** The page with another tab or input mode. */
function addressIn(
  { model, version, view, form, tab }: PlaygroundState,
  other: { tab?: PlaygroundState["tab"]; asJson?: boolean },
) {
  const query = new URLSearchParams({ version: String(version.number) });
  if (view) query.set("prediction", view.prediction.id);
  if (other.asJson ?? form.asJson) query.set("as", "json");
  if ((other.tab ?? tab) === "code") query.set("tab", "code");
  return `${modelAddress(model, "/playground")}?${query}`;
}

const NoPrediction = ({ reference }: { reference: string }) => (
  <Empty title="No prediction yet">
    <p>
      Fill in the input and run the model. Its output streams here, and the URL of this page then
      links to the prediction.
    </p>
    <p>
      <a href={`/predictions?model=${encodeURIComponent(reference)}`}>
        View your earlier predictions
      </a>
    </p>
  </Empty>
);

/** Submits the form, so that typed values are carried over. */
const VersionSelect = ({ play: { model, version, versions } }: { play: PlaygroundState }) => (
  <div class="playground-version">
    <label for={VERSION_FIELD}>Version</label>
    <select id={VERSION_FIELD} name={VERSION_FIELD} form="playground-form">
      {versions.map((number) => (
        <option value={number} selected={number === version.number}>
          {number === model.latest_version?.number ? `${number} (latest)` : number}
        </option>
      ))}
    </select>
    <button
      type="submit"
      form="playground-form"
      name={SWITCH_BUTTON}
      value="other"
      formnovalidate
      class="quiet"
    >
      Switch
    </button>
  </div>
);

function InputForm({ play }: { play: PlaygroundState }) {
  const { model, version, form, problem, note } = play;
  const { fields, raw, asJson, issues } = form;
  const draft: Draft = { issues, ...(problem !== undefined && { problem }) };
  return (
    <Form action={modelAddress(model, "/playground")} id="playground-form">
      <input type="hidden" name="version" value={String(version.number)} />
      {note && <p class="hint">{note}</p>}
      {version.awaits?.includes("schemas") && (
        <p class="hint">
          This version waits for a first start: its inputs are not known yet. Enter them as JSON, as
          its container takes them. When a run has ended, reload this page for a form.
        </p>
      )}
      <Problem draft={draft} />
      <p class="problem" role="alert" data-form-problem hidden />
      {fields.length > 0 && (
        <fieldset class="playground-fields" data-fields-panel disabled={asJson} hidden={asJson}>
          <legend class="visually-hidden">Fields</legend>
          {fields.map((field, n) => (
            <Control field={field} n={n} draft={draft} />
          ))}
        </fieldset>
      )}
      <fieldset class="playground-fields" data-raw-panel disabled={!asJson} hidden={!asJson}>
        <legend class="visually-hidden">JSON</legend>
        <div class="field">
          <label for={JSON_FIELD}>Input as JSON</label>
          <Area
            text={raw}
            rows={14}
            attributes={{
              ...controlAttributes(JSON_FIELD, undefined, draft),
              class: "code",
              spellcheck: "false",
            }}
          />
          {issues[JSON_FIELD] !== undefined && (
            <p class="field-error" id={`${JSON_FIELD}-error`}>
              {issues[JSON_FIELD]}
            </p>
          )}
        </div>
      </fieldset>
      <p class="visually-hidden" role="status" data-announce />
      <div class="playground-actions">
        <button type="submit" class="primary" aria-keyshortcuts="Control+Enter">
          Run{" "}
          <span hidden data-keys aria-hidden="true">
            Ctrl + Enter
          </span>
        </button>
        <span class="playground-modes">
          {fields.length > 0 && (
            <a href={addressIn(play, { asJson: !asJson })} data-switch-mode>
              {asJson ? "Edit as form" : "Edit as JSON"}
            </a>
          )}
          <a href={modelAddress(model, "/playground")}>Reset</a>
        </span>
      </div>
    </Form>
  );
}
