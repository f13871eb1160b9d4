/** What the form of a playground holds: the fields of a version, or the whole input as JSON. */

import { type Field, type FieldKind, formFields } from "../../domain/schemas/input-form.ts";
import {
  type FilledField,
  fillForm,
  type Input,
  readField,
  readForm,
  readJsonInput,
} from "../../domain/schemas/input-form-values.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { readableJson } from "../../lib/readable-json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Compatibilities, Schemas } from "../../protocol/model.ts";
import { fieldText } from "../form.ts";
import { controlName, JSON_FIELD } from "./control-names.ts";

export interface PlaygroundInput {
  fields: FilledField[];
  /** The input as JSON text. */
  raw: string;
  /** Whether that is shown in place of the fields. */
  asJson: boolean;
  /** What is wrong, by the name of a control. */
  issues: Record<string, string>;
}

interface Version {
  schemas: Schemas;
  compatibilities: Compatibilities;
}

/** A server of the vendora convention may say nothing of what it takes: the convention does. */
export function inputFields({ schemas, compatibilities }: Version): Field[] {
  const fields = formFields(versionSchema(schemas, "input"));
  if (fields.length > 0) return fields;
  if (compatibilities.vendora_chat_completions) return formFields(CHAT);
  return compatibilities.vendora_embeddings ? formFields(EMBEDDINGS) : [];
}

const CHAT: Json = {
  required: ["messages"],
  properties: {
    messages: { type: "array", items: { type: "object" }, description: "Messages to the model" },
  },
};

const EMBEDDINGS: Json = {
  required: ["input"],
  properties: { input: { type: "string", maxLength: 10_000, description: "Text to embed" } },
};

/** @param input of an earlier run; what it leaves out is as at first */
export function inputFor(
  fields: Field[],
  input: Input | undefined,
  asJson: boolean,
): PlaygroundInput {
  const form = fillForm(fields, input);
  const shown = form ?? fillForm(fields) ?? [];
  return {
    fields: shown,
    raw: readableJson((form ? readForm(form).input : input) ?? {}),
    asJson: asJson || !form || fields.length === 0,
    issues: {},
  };
}

/** A form as it was sent, and the input that it makes as far as nothing is wrong. */
export function readInputForm(
  fields: Field[],
  form: FormData,
): { form: PlaygroundInput; input: Input } {
  if (form.has(JSON_FIELD)) {
    const raw = fieldText(form, JSON_FIELD);
    const read = readJsonInput(raw);
    const issues: PlaygroundInput["issues"] = "fault" in read ? { [JSON_FIELD]: read.fault } : {};
    const shown = { fields: fillForm(fields) ?? [], raw, asJson: true, issues };
    return { form: shown, input: "fault" in read ? {} : read.input };
  }
  const sent = fields.map((field, n): FilledField => {
    const kinds: FieldKind[] = ["json", "lines"];
    const kind = kinds.find((one) => form.has(controlName(one, n))) ?? field.kind;
    return { ...field, kind, text: fieldText(form, controlName(kind, n)) };
  });
  const { input, faults } = readForm(sent);
  const raw = readableJson(input);
  return { form: { fields: sent, raw, asJson: false, issues: byControl(sent, faults) }, input };
}

/** What was typed into a form, in that of another version: by name, where it fits. */
export function convertInput(
  { fields, raw, asJson }: PlaygroundInput,
  to: Field[],
): PlaygroundInput {
  const first = fillForm(fields) ?? [];
  const typed = new Map(
    fields.filter(({ text }, n) => text !== first[n]?.text).map((field) => [field.name, field]),
  );
  const shown = (fillForm(to) ?? []).map((field) => fitField(field, typed.get(field.name)));
  const { input } = readForm(to.length > 0 ? shown : fields);
  return {
    fields: shown,
    raw: asJson ? raw : readableJson(input),
    asJson: asJson || to.length === 0,
    issues: {},
  };
}

function fitField(field: FilledField, typed: FilledField | undefined): FilledField {
  if (!typed) return field;
  // Also what means nothing yet.
  if (typed.kind === field.kind && field.kind !== "enum") return { ...field, text: typed.text };
  const reading = readField(typed);
  if (!reading || "fault" in reading) return field;
  const [held = field] = fillForm([field], { [field.name]: reading.value }) ?? [];
  return held.kind === "json" ? field : held;
}

/** Of messages by the name of a property. */
export const byControl = (fields: Field[], messages: Map<string, string>) =>
  Object.fromEntries(
    fields.flatMap(({ name, kind }, n) => {
      const message = messages.get(name);
      return message === undefined ? [] : [[controlName(kind, n), message]];
    }),
  );
