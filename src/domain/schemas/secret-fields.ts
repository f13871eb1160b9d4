/** The fields of an input that hold a secret: pages neither show what was sent in them, nor fill them in. */
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import { formFields } from "./input-form.ts";
import { versionSchema } from "./version-schemas.ts";

export const secretFields = (schemas: Schemas): string[] =>
  formFields(versionSchema(schemas, "input"))
    .filter(({ kind }) => kind === "secret")
    .map(({ name }) => name);

const MASK = "••••••••";

export function withMasks(input: Json | undefined, secrets: string[]): Json | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const masks = secrets.filter((name) => Object.hasOwn(input, name)).map((name) => [name, MASK]);
  return { ...input, ...Object.fromEntries(masks) };
}

/** @returns also whether there were any */
export function withoutSecrets(
  input: Record<string, Json>,
  secrets: string[],
): { input: Record<string, Json>; left: boolean } {
  const kept = Object.entries(input).filter(([name]) => !secrets.includes(name));
  return { input: Object.fromEntries(kept), left: kept.length < Object.keys(input).length };
}
