/** Reads the values of arguments and options. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { ZodError } from "zod";
import { modelReference } from "../protocol/common.ts";
import { ociDigest, tag } from "../protocol/oci.ts";
import { settableName, variableName } from "../protocol/variable.ts";

/** A whole number within bounds. */
export const integerOption = (min: number, max: number) => (text: string) => {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`A whole number from ${min} to ${max} is needed.`);
};

/** How many of a list: the service's pages have 5 at least. */
export const limitOption = integerOption(1, 50);

/** @returns the path with the size of a page that has so many */
export const pagePath = (path: string, limit: number): string =>
  `${path}?page_size=${Math.max(limit, 5)}`;

/** A model, and one of its versions if a number is given. */
export interface ModelReference {
  /** `owner/name` */
  model: string;
  version: number | undefined;
  /** As it was given. */
  text: string;
}

export function modelArgument(text: string): ModelReference {
  if (!modelReference.safeParse(text).success)
    throw new InvalidArgumentError("A model is owner/name, or owner/name:3 for its version 3.");
  const [model = "", version] = text.split(":");
  return { model, version: version === undefined ? undefined : Number(version), text };
}

/** A model, and none of its versions. */
export function wholeModelArgument(text: string): string {
  const { model, version } = modelArgument(text);
  if (version === undefined) return model;
  throw new InvalidArgumentError(`A model is owner/name, without a version: ${model}`);
}

/** One version of a model. */
export function versionArgument(text: string) {
  const { model, version } = modelArgument(text);
  if (version !== undefined) return { model, version };
  throw new InvalidArgumentError(`The number of the version is needed, as in ${model}:3.`);
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
  if (isKnown && modelReference.safeParse(model).success) return { model, reference, isDigest };
  throw new InvalidArgumentError(
    "A tag is owner/name:tag, and an image owner/name@sha256:…: auspex tags owner/name lists them.",
  );
}

const messagesOf = ({ issues }: ZodError): string =>
  issues.map(({ message }) => message).join("; ");

const nameArgument = (shape: typeof variableName) => (text: string) => {
  const { success, data, error } = shape.safeParse(text);
  if (success) return data;
  throw new InvalidArgumentError(`${messagesOf(error)}.`);
};
export const variableArgument = nameArgument(variableName);
/** Of one that can be set: some names are the runner's. */
export const settableArgument = nameArgument(settableName);

/** A tag of an image. */
export function tagOption(text: string): string {
  const { success, data, error } = tag.safeParse(text);
  if (success) return data;
  throw new InvalidArgumentError(`A tag has ${messagesOf(error)}.`);
}

/** Collects an option that can be repeated. */
export const repeated = (value: string, values: string[] = []): string[] => [...values, value];

/** The id of a prediction, or its address. */
export function predictionArgument(text: string): string {
  const [id] = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.exec(text) ?? [];
  if (id === undefined)
    throw new InvalidArgumentError(
      "The id of a prediction is needed: auspex predictions lists them.",
    );
  return id;
}

/** One of a few words. */
export const choice =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): Word => {
    const word = words.find((one) => one === text);
    if (word !== undefined) return word;
    throw new InvalidArgumentError(`One of ${words.join(", ")} is needed.`);
  };
