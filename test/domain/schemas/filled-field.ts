import type { Field, FieldKind } from "../../../src/domain/schemas/input-form.ts";
import type { FilledField } from "../../../src/domain/schemas/input-form-values.ts";

export const field = (kind: FieldKind, text: string, more: Partial<Field> = {}): FilledField => ({
  name: "it",
  label: "it",
  description: "",
  required: false,
  kind,
  text,
  ...more,
});
