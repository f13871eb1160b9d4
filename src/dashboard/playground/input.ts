/** The input form of the playground: fields, or the whole input as JSON. */
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
import { readableJson } from "../../lib/text.ts";
import type { Json } from "../../protocol/common.ts";
import type { Compatibilities, Schemas } from "../../protocol/model.ts";
import { fieldText } from "../form.ts";
import { controlName, JSON_FIELD } from "./control-names.ts";

export interface PlaygroundInput {
  fields: FilledField[];
  raw: string;
  asJson: boolean;
  issues: Record<string, string>;
}

interface Version {
  schemas: Schemas;
  compatibilities: Compatibilities;
}

/** OpenAI-compatible servers may publish no schema: the API they implement defines the fields. */
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

/** @param input of an earlier prediction; other fields get their defaults */
export function inputFor(
  fields: Field[],
  input: Input | undefined,
  asJson: boolean,
): PlaygroundInput {
  const form = fillForm(fields, input);
  const filledFields = form ?? fillForm(fields) ?? [];
  return {
    fields: filledFields,
    raw: readableJson((form ? readForm(form).input : input) ?? {}),
    asJson: asJson || !form || fields.length === 0,
    issues: {},
  };
}

export function readInputForm(
  fields: Field[],
  form: FormData,
): { form: PlaygroundInput; input: Input } {
  if (form.has(JSON_FIELD)) {
    const raw = fieldText(form, JSON_FIELD);
    const read = readJsonInput(raw);
    const issues: PlaygroundInput["issues"] = "fault" in read ? { [JSON_FIELD]: read.fault } : {};
    const state = { fields: fillForm(fields) ?? [], raw, asJson: true, issues };
    return { form: state, input: "fault" in read ? {} : read.input };
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

/** Carries typed values over to another version, by field name, where they fit. */
export function convertInput(
  { fields, raw, asJson }: PlaygroundInput,
  to: Field[],
): PlaygroundInput {
  const first = fillForm(fields) ?? [];
  const typed = new Map(
    fields.filter(({ text }, n) => text !== first[n]?.text).map((field) => [field.name, field]),
  );
  const converted = (fillForm(to) ?? []).map((field) => fitField(field, typed.get(field.name)));
  const { input } = readForm(to.length > 0 ? converted : fields);
  return {
    fields: converted,
    raw: asJson ? raw : readableJson(input),
    asJson: asJson || to.length === 0,
    issues: {},
  };
}

function fitField(field: FilledField, typed: FilledField | undefined): FilledField {
  if (!typed) return field;
  // The text may be invalid still.
  if (typed.kind === field.kind && field.kind !== "enum") return { ...field, text: typed.text };
  const reading = readField(typed);
  if (!reading || "fault" in reading) return field;
  const [refilled = field] = fillForm([field], { [field.name]: reading.value }) ?? [];
  return refilled.kind === "json" ? field : refilled;
}

/** @param messages by property name */
export const byControl = (fields: Field[], messages: Map<string, string>) =>
  Object.fromEntries(
    fields.flatMap(({ name, kind }, n) => {
      const message = messages.get(name);
      return message === undefined ? [] : [[controlName(kind, n), message]];
    }),
  );
