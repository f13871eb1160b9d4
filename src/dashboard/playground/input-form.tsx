/** The form of an input: its fields, or the whole as JSON. */
import type { Draft } from "../form.ts";
import { modelAddress } from "../models/header.tsx";
import { controlAttributes, Problem } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { addressIn, type PlaygroundState } from "./address.ts";
import { JSON_FIELD } from "./control-names.ts";
import { Area, Control } from "./controls.tsx";

export function InputForm({ play }: { play: PlaygroundState }) {
  const { model, version, form, problem, note } = play;
  const { fields, raw, asJson, issues } = form;
  const draft: Draft = { issues, ...(problem !== undefined && { problem }) };
  return (
    <Form action={modelAddress(model)} id="playground-form">
      <input type="hidden" name="version" value={String(version.number)} />
      <input type="hidden" name="view" value={play.view} />
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
      <div class="bar playground-actions">
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
          <a href={modelAddress(model)}>Reset</a>
        </span>
      </div>
    </Form>
  );
}
