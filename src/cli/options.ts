/** Reads the values of arguments and options. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { ZodError } from "zod";
import { readModelReference } from "../protocol/common.ts";
import { type Compatibilities, newCompatibilities } from "../protocol/model.ts";
import { ociDigest, tag } from "../protocol/oci.ts";
import { settableName, variableName } from "../protocol/variable.ts";
import { Misuse } from "./failure.ts";

/** A whole number within bounds. */
export const integerOption = (min: number, max: number) => (text: string) => {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`A whole number from ${min} to ${max} is needed.`);
};

/** The number of items of a list: pages of the service have at least 5. */
export const limitOption = integerOption(1, 50);

/** @returns the path with the size of a page that has so many */
export const pagePath = (path: string, limit: number): string =>
  `${path}?page_size=${Math.max(limit, 5)}`;

/** A model, and one of its versions if a number is given. */
export interface ModelReference {
  /** `owner/name` */
  model: string;
  version: number | undefined;
  text: string;
}

/** @param shape what to write instead. @throws Misuse */
function readReference(text: string, what: string, shape: string): ModelReference {
  const found = readModelReference(text);
  if (!found) throw new Misuse(`'${text}' is no ${what}: write ${shape}.`);
  return { model: `${found.owner}/${found.name}`, version: found.version, text };
}

export const modelArgument = (text: string): ModelReference =>
  readReference(text, "model", "owner/name, or owner/name:3 for its version 3");

export function wholeModelArgument(text: string): string {
  const { model, version } = readReference(text, "model", "owner/name");
  if (version === undefined) return model;
  throw new Misuse(`'${text}' is a version: write the model, ${model}.`);
}

export function versionArgument(text: string) {
  const { model, version } = readReference(text, "version", "owner/name:3");
  if (version !== undefined) return { model, version };
  throw new Misuse(`'${text}' names no version: write its number, as in ${model}:3.`);
}

/** An image of a model, in the deployment's registry. */
export interface ImageReference {
  /** `owner/name` */
  model: string;
  /** A tag, or a digest. */
  reference: string;
  isDigest: boolean;
}

export function imageArgument(text: string): ImageReference {
  const [, model = "", separator = "", reference = ""] = /^([^:@]+)([:@])(.+)$/.exec(text) ?? [];
  const isDigest = separator === "@";
  const isKnown = (isDigest ? ociDigest : tag).safeParse(reference).success;
  if (isKnown && readModelReference(model)) return { model, reference, isDigest };
  throw new Misuse(
    `'${text}' is no image: write owner/name:tag or owner/name@sha256:…, as auspex tags owner/name lists them.`,
  );
}

const messagesOf = ({ issues }: ZodError): string =>
  issues.map(({ message }) => message).join("; ");

const nameArgument = (shape: typeof variableName) => (text: string) => {
  const { success, data, error } = shape.safeParse(text);
  if (success) return data;
  throw new Misuse(`'${text}' cannot be a variable: ${messagesOf(error)}.`);
};
export const variableArgument = nameArgument(variableName);
/** Some names are reserved for the runner and cannot be set. */
export const settableArgument = nameArgument(settableName);

export function tagOption(text: string): string {
  const { success, data, error } = tag.safeParse(text);
  if (success) return data;
  throw new InvalidArgumentError(`A tag has ${messagesOf(error)}.`);
}

/** Collects an option that can be repeated. */
export const repeated = (value: string, values: string[] = []): string[] => [...values, value];

/** Collects `name=true` and `name=false`. */
export function compatibilityOption(
  text: string,
  before: Partial<Compatibilities> = {},
): Partial<Compatibilities> {
  const [, name = "", value] = /^(\w+)=(true|false)$/.exec(text) ?? [];
  const { success } = newCompatibilities.keyof().safeParse(name);
  if (success) return { ...before, [name]: value === "true" };
  const names = newCompatibilities.keyof().options.join(", ");
  throw new InvalidArgumentError(`Write name=true or name=false. Names: ${names}.`);
}

export function predictionArgument(text: string): string {
  const [id] = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.exec(text.toLowerCase()) ?? [];
  if (id === undefined)
    throw new Misuse(`'${text}' is no prediction: write its id. auspex predictions lists them.`);
  return id;
}

export const choice =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): Word => {
    const word = words.find((one) => one === text);
    if (word !== undefined) return word;
    throw new InvalidArgumentError(`One of ${words.join(", ")} is needed.`);
  };
