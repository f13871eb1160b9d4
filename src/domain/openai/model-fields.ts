/** The inputs of a Cog model by their purpose: models have different names for the same thing. */
import type { Json } from "../../protocol/common.ts";
import {
  enumOptions,
  type Keywords,
  listOf,
  objectOf,
  SchemaResolver,
} from "../schemas/input-form-schema.ts";

export interface Field {
  name: string;
  keywords: Keywords;
}

export class ModelFields {
  readonly #resolver: SchemaResolver;
  readonly #properties: Keywords;
  readonly #required: Json[];

  constructor(schema: Json) {
    this.#resolver = SchemaResolver.of(schema);
    const { properties, required } = this.#resolver.resolve(schema);
    this.#properties = objectOf(properties);
    this.#required = listOf(required);
  }

  get names(): string[] {
    return Object.keys(this.#properties);
  }

  /** Returns the first of these names that the model has with this kind. */
  find(names: readonly string[], isKind: (part: Keywords) => boolean): Field | undefined {
    for (const name of names) {
      if (!Object.hasOwn(this.#properties, name)) continue;
      const keywords = this.#resolver.resolve(this.#properties[name]);
      if (isKind(keywords)) return { name, keywords };
    }
    return undefined;
  }

  /** Returns all fields of a kind. */
  every(isKind: (part: Keywords) => boolean): Field[] {
    return this.names.flatMap((name) => this.find([name], isKind) ?? []);
  }

  /** Whether no other fields are required. */
  needsOnly(...fields: (Field | undefined)[]): boolean {
    return this.#required.every((name) => fields.some((field) => field?.name === name));
  }
}

export const typesOf = ({ type }: Keywords): Json[] => [type ?? []].flat();

export const isFile = (part: Keywords) => typesOf(part).includes("string") && part.format === "uri";

/** Whether a field is a text, free or chosen. */
export const isText = (part: Keywords) =>
  part.format !== "uri" && (typesOf(part).includes("string") || enumOptions(part) !== undefined);

export const isFreeText = (part: Keywords) => isText(part) && !enumOptions(part);

export const isList = (part: Keywords) => typesOf(part).includes("array");

export const isNumber = (part: Keywords) =>
  typesOf(part).some((type) => type === "number" || type === "integer");

export const isBoolean = (part: Keywords) => typesOf(part).includes("boolean");

/** Returns the title and description that the model's author has written. */
export const saidOf = ({ title, description }: Keywords): string =>
  [title, description].filter((text) => typeof text === "string").join(" ");

/** The error for a parameter of a call that a Cog model cannot be given. */
export class UnfitParameter extends Error {
  readonly param: string;
  readonly code: "unsupported_parameter" | "invalid_value";

  constructor(param: string, code: UnfitParameter["code"], message: string) {
    super(message);
    this.param = param;
    this.code = code;
  }
}

/**
 * The error for a parameter that would change the answer.
 * @param property the property that its schema lacks
 */
export const lacks = (param: string, property = param) =>
  new UnfitParameter(
    param,
    "unsupported_parameter",
    `'${param}' is not supported: the input schema of the model does not have '${property}'. Leave it out, or call a model that has it.`,
  );

const MAX_SHOWN = 50;

/**
 * Returns the option that a text means, in any case; the text itself where there are no options.
 * @param others other words for the option
 * @throws UnfitParameter
 */
export function optionFor({ keywords }: Field, param: string, text: string, ...others: string[]) {
  const options = enumOptions(keywords);
  if (!options) return text;
  const words = [text, ...others].map((word) => word.toLowerCase());
  const found = words
    .map((word) => options.find((option) => String(option).toLowerCase() === word))
    .find((option) => option !== undefined);
  if (found !== undefined) return found;
  const shown = options.slice(0, MAX_SHOWN).map((option) => `'${option}'`);
  const rest = options.length > MAX_SHOWN ? ` and ${options.length - MAX_SHOWN} more` : "";
  const message = `'${param}' has to be one of those that the model has: ${shown.join(", ")}${rest}.`;
  throw new UnfitParameter(param, "invalid_value", message);
}
