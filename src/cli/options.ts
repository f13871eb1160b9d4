/** Reads the values of arguments and options. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { type ZodError, z } from "zod";
import { readModelReference } from "../protocol/common.ts";
import { type Compatibilities, newCompatibilities } from "../protocol/model.ts";
import { ociDigest, tag } from "../protocol/oci.ts";
import { settableName, variableName } from "../protocol/variable.ts";
import { Misuse } from "./failure.ts";

/** A whole number within bounds. */
export const integerOption = (min: number, max: number) => (text: string) => {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`Use a whole number from ${min} to ${max}.`);
};

/** The number of items of a list: pages of the service have at least 5. */
export const limitOption = integerOption(1, 50);

/** @returns the path with the size of a page that has so many */
export const pagePath = (path: string, limit: number): string =>
  `${path}?page_size=${Math.max(limit, 5)}`;

/** A model, and one of its versions if a number is given. */
export interface ModelReference {
  /** `owner/name`, or the name of the user's own model (`fullName` in service/service.ts). */
  model: string;
  version: number | undefined;
}

/** @param shape what to write instead. @throws Misuse */
function readReference(text: string, what: string, shape: string): ModelReference {
  const isOwn = !text.includes("/");
  const found = readModelReference(isOwn ? `own/${text}` : text);
  if (!found) throw new Misuse(`Invalid ${what} "${text}". Use ${shape}.`);
  const { owner, name, version } = found;
  return { model: isOwn ? name : `${owner}/${name}`, version };
}

export const modelArgument = (text: string): ModelReference =>
  readReference(text, "model", "owner/name or owner/name:3");

export function wholeModelArgument(text: string): string {
  const { model, version } = readReference(text, "model", "owner/name");
  if (version === undefined) return model;
  throw new Misuse(`"${text}" is a version. Use the model: ${model}.`);
}

export function versionArgument(text: string) {
  const { model, version } = readReference(text, "version", "owner/name:3");
  if (version !== undefined) return { model, version };
  throw new Misuse(`"${text}" has no version number. Use ${model}:3.`);
}

/** An image of a model, in the deployment's registry. */
export interface ImageReference {
  /** `owner/name`, or the name of the user's own model. */
  model: string;
  /** A tag, or a digest. */
  reference: string;
  isDigest: boolean;
}

export function imageArgument(text: string): ImageReference {
  const [, model = "", separator = "", reference = ""] = /^([^:@]+)([:@])(.+)$/.exec(text) ?? [];
  const isDigest = separator === "@";
  const isKnown = (isDigest ? ociDigest : tag).safeParse(reference).success;
  if (isKnown && readModelReference(model.includes("/") ? model : `own/${model}`))
    return { model, reference, isDigest };
  throw new Misuse(
    `Invalid image "${text}". Use owner/name:tag or owner/name@sha256:…. List them with auspex tags owner/name.`,
  );
}

const messagesOf = ({ issues }: ZodError): string =>
  issues.map(({ message }) => message).join("; ");

const nameArgument = (shape: typeof variableName) => (text: string) => {
  const { success, data, error } = shape.safeParse(text);
  if (success) return data;
  throw new Misuse(`Invalid variable name "${text}": ${messagesOf(error)}.`);
};
export const variableArgument = nameArgument(variableName);
/** Some names are reserved for the runner and cannot be set. */
export const settableArgument = nameArgument(settableName);

export function tagOption(text: string): string {
  const { success, data, error } = tag.safeParse(text);
  if (success) return data;
  throw new InvalidArgumentError(`Use ${messagesOf(error)}.`);
}

export function dayOption(text: string): string {
  if (z.iso.date().safeParse(text).success) return text;
  throw new InvalidArgumentError("Use a day such as 2026-11-01.");
}

/** Collects an option that can be repeated. */
export const repeated = (value: string, values: string[] = []): string[] => [...values, value];

/** The names of APIs as the command shows them: `openai_embeddings` for `vendora_embeddings`. */
export const shownApi = (flag: string): string =>
  flag.replace(/^vendora_/, "openai_").replace(/^vendorb_/, "anthropic_");

/** Collects `name=true` and `name=false`, with a name as the API or as the command writes it. */
export function compatibilityOption(
  text: string,
  before: Partial<Compatibilities> = {},
): Partial<Compatibilities> {
  const [, name = "", value] = /^(\w+)=(true|false)$/.exec(text) ?? [];
  const flags = newCompatibilities.keyof().options;
  const flag = flags.find((one) => one === name || shownApi(one) === name);
  if (flag !== undefined) return { ...before, [flag]: value === "true" };
  const names = flags.map(shownApi).join(", ");
  throw new InvalidArgumentError(`Use name=true or name=false. Names: ${names}.`);
}

/** Returns the ID of a prediction, or that at the end of its URL; undefined for any other text. */
export const predictionId = (text: string): string | undefined =>
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.exec(text.toLowerCase())?.[0];

export function predictionArgument(text: string): string {
  const id = predictionId(text);
  if (id !== undefined) return id;
  throw new Misuse(
    `Invalid prediction ID "${text}". List your predictions with auspex predictions.`,
  );
}

export const choice =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): Word => {
    const word = words.find((one) => one === text);
    if (word !== undefined) return word;
    throw new InvalidArgumentError(`Use one of ${words.join(", ")}.`);
  };
