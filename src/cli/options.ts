/** Reads the values of arguments and options. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { modelReference } from "../protocol/common.ts";

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
