/** The form of an input: its fields, or the whole as JSON. */

import type { Child } from "hono/jsx";
import type { FieldKind } from "../../domain/schemas/input-form.ts";
import { type FilledField, fillForm } from "../../domain/schemas/input-form-values.ts";
import type { Draft } from "../form.ts";
import { Field, useControl } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { modelAddress } from "../ui/model-header.tsx";
import { addressIn, type PlaygroundState } from "./address.ts";
import { controlName, JSON_FIELD } from "./control-names.ts";
import { EstimateLine } from "./estimate.tsx";

/** The form whose submission leads a visitor to log in. */
export const SIGN_IN_FORM = "sign-in-to-run";

export function InputForm({
  play,
  isVisitor = false,
}: {
  play: PlaygroundState;
  isVisitor?: boolean;
}) {
  const { model, version, form, problem, note } = play;
  const { fields, raw, asJson, issues } = form;
  const draft: Draft = { issues, ...(problem !== undefined && { problem }) };
  return (
    <Form action={modelAddress(model)} id="playground-form" draft={draft}>
      <input type="hidden" name="version" value={String(version.number)} />
      <input type="hidden" name="view" value={play.view} />
      {note && <p class="hint">{note}</p>}
      {version.awaits?.includes("schemas") && (
        <p class="hint">
          The input fields of this version are detected when it first starts. Until then, enter the
          input as JSON. After the first run, reload this page to get a form.
        </p>
      )}
      <p class="problem" role="alert" data-form-problem hidden />
      {fields.length > 0 && (
        <fieldset class="playground-fields" data-fields-panel disabled={asJson} hidden={asJson}>
          <legend class="visually-hidden">Fields</legend>
          <Controls fields={fields} issues={issues} />
        </fieldset>
      )}
      <fieldset class="playground-fields" data-raw-panel disabled={!asJson} hidden={!asJson}>
        <legend class="visually-hidden">JSON</legend>
        <JsonInput raw={raw} />
      </fieldset>
      <p class="visually-hidden" role="status" data-announce />
      <div class="bar playground-actions">
        <button
          type="submit"
          class="primary"
          form={isVisitor ? SIGN_IN_FORM : undefined}
          aria-keyshortcuts="Control+Enter"
        >
          {isVisitor ? "Log in to run" : "Run"}{" "}
          <span hidden data-keys aria-hidden="true">
            Ctrl + Enter
          </span>
        </button>
        <span class="bar push">
          {fields.length > 0 && (
            <a href={addressIn(play, { asJson: !asJson })} data-switch-mode>
              {asJson ? "Edit as form" : "Edit as JSON"}
            </a>
          )}
          <a href={modelAddress(model)}>Reset</a>
        </span>
      </div>
      <EstimateLine {...play} />
    </Form>
  );
}

const JsonInput = ({ raw }: { raw: string }) => (
  <Field name={JSON_FIELD} label="Input as JSON" required>
    <Area
      text={raw}
      rows={14}
      attributes={{ ...useControl(JSON_FIELD, undefined), class: "mono", spellcheck: "false" }}
    />
  </Field>
);

/**
 * Required fields first, or the first field where none is required. The others are folded, unless one of them
 * has an error or a value other than its default.
 */
function Controls({ fields, issues }: { fields: FilledField[]; issues: Draft["issues"] }) {
  const all = fields.map((field, n) => ({ field, n, name: controlName(field.kind, n) }));
  const required = all.filter(({ field }) => field.required);
  const first = required.length > 0 ? required : all.slice(0, 1);
  const others = all.filter((one) => !first.includes(one));
  const isOpen = others.some(
    ({ field, name }) => issues[name] !== undefined || field.text !== fillForm([field])?.[0]?.text,
  );
  return (
    <>
      {first.map(({ field, n }) => (
        <Control field={field} n={n} />
      ))}
      {others.length > 0 && (
        <details open={isOpen}>
          <summary class="strong">
            More options <span class="quiet">({others.length})</span>
          </summary>
          {others.map(({ field, n }) => (
            <Control field={field} n={n} />
          ))}
        </details>
      )}
    </>
  );
}

interface Props {
  field: FilledField;
  n: number;
}

export function Control({ field, n }: Props) {
  const name = controlName(field.kind, n);
  const hint = hintOf(field);
  const attributes = { ...useControl(name, hint), required: field.required };
  if (field.kind === "boolean") {
    return (
      <div class="field">
        {/* Wrapped: a label directly below .field is styled as one above its control. */}
        <div>
          <label class="choice strong">
            <input
              {...attributes}
              required={false}
              type="checkbox"
              value="true"
              checked={field.text === "true"}
            />
            <span dir="auto">{field.label}</span>
          </label>
        </div>
        {hint && (
          <p class="hint" id={`${name}-hint`}>
            {hint}
          </p>
        )}
      </div>
    );
  }
  return (
    <Field name={name} label={<bdi>{field.label}</bdi>} hint={hint} required={field.required}>
      <FieldControl field={field} attributes={attributes} />
    </Field>
  );
}

/** The API name when it differs from the label, the description, and the limits. */
function hintOf({ name, label, description, ...field }: FilledField): Child | undefined {
  const isNamed = label.toLowerCase().replaceAll(" ", "_") === name.toLowerCase();
  const rules = [boundsOf(field), FORMATS[field.kind], field.lists && LIST_FORMAT]
    .filter(Boolean)
    .join(", ");
  if (isNamed && !description && !rules) return undefined;
  return (
    <>
      {!isNamed && <code>{name}</code>}
      {description && (
        <>
          {" "}
          <bdi>{description}</bdi>{" "}
        </>
      )}
      {description && rules && "· "}
      {rules && <span class="nowrap">{rules}</span>}
    </>
  );
}

function boundsOf({ minimum, maximum }: Pick<FilledField, "minimum" | "maximum">): string {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  if (minimum !== undefined) return `${minimum} or more`;
  return maximum === undefined ? "" : `${maximum} or less`;
}

const FORMATS: Partial<Record<FieldKind, string>> = {
  files: "one URL per line",
  json: "as JSON",
  strings: "one per line",
};

const LIST_FORMAT = 'text, or a JSON list: ["one", "two"]';

interface InnerProps {
  field: FilledField;
  attributes: ReturnType<typeof useControl> & { required: boolean };
}

function FieldControl({ field, attributes }: InnerProps) {
  const { kind, text, label } = field;
  switch (kind) {
    case "enum":
      return <Options field={field} attributes={attributes} />;
    case "file":
      return (
        <>
          <input
            {...attributes}
            inputmode="url"
            value={text}
            placeholder="https://"
            autocomplete="off"
          />
          <FilePicker label={label} />
        </>
      );
    case "files":
      return (
        <>
          <Area text={text} attributes={attributes} rows={2} />
          <FilePicker label={label} several />
        </>
      );
    case "json":
      return <Area text={text} attributes={{ ...attributes, class: "mono", spellcheck: false }} />;
    case "strings":
      return <Area text={text} attributes={{ ...attributes, required: false }} rows={3} />;
    case "lines":
    case "messages":
      return <Area text={text} attributes={attributes} />;
    case "secret":
      return <input {...attributes} type="password" value={text} autocomplete="off" />;
    case "text":
      return <input {...attributes} value={text} autocomplete="off" />;
    default:
      return <Numeric field={field} attributes={attributes} />;
  }
}

/** The HTML parser drops a leading line break. */
const Area = ({
  text,
  attributes,
  rows = 4,
}: {
  text: string;
  attributes: object;
  rows?: number;
}) => <textarea {...attributes} rows={rows}>{`\n${text}`}</textarea>;

/** With an empty option when the field is optional without a default, or not chosen yet. */
function Options({
  field: { options = [], text, required, default: preset },
  attributes,
}: InnerProps) {
  const isOpen = text === "" || (!required && preset === undefined);
  return (
    <select {...attributes}>
      {isOpen && <option value="">{required ? "Choose one" : ""}</option>}
      {options.map((option) => {
        const value = JSON.stringify(option);
        return (
          <option value={value} selected={value === text}>
            {option === true
              ? "yes"
              : option === false
                ? "no"
                : typeof option === "string"
                  ? option
                  : value}
          </option>
        );
      })}
    </select>
  );
}

/** Client code reveals the slider. */
function Numeric({ field, attributes }: InnerProps) {
  const { kind, text, label, minimum = Number.NEGATIVE_INFINITY, maximum, step } = field;
  const input = (
    <input
      {...attributes}
      // Numeric keyboards have no minus key on some phones.
      inputmode={minimum >= 0 ? (kind === "integer" ? "numeric" : "decimal") : "text"}
      value={text}
      placeholder={field.default === undefined ? undefined : String(field.default)}
      autocomplete="off"
    />
  );
  if (kind !== "range") return input;
  return (
    <div class="line-up with-slider">
      {input}
      <input
        type="range"
        aria-label={`Slider for ${label}`}
        min={minimum}
        max={maximum}
        step={step}
        value={text === "" ? undefined : text}
        data-slider
        hidden
      />
    </div>
  );
}

const FilePicker = ({ label, several = false }: { label: string; several?: boolean }) => (
  <div class="file-picker" data-file-picker hidden>
    <button type="button" class="quiet">
      {several ? "Choose files or drop them here" : "Choose a file or drop it here"}
      <span class="visually-hidden"> for {label}</span>
    </button>
    <input type="file" multiple={several} hidden />
    <ul class="selected-files" />
  </div>
);
