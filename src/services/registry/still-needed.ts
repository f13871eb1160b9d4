/** The error for an image that is still needed: what needs it, and when it can be deleted. */
import { RegistryError } from "../../errors/registry.ts";
import { MAX_NAMERS, MAX_TAGS, type Need } from "../../storage/registry/manifests.ts";

/** How many versions the error names at most. */
export const NAMED_VERSIONS = 5;

/**
 * The time of two sweeps: an image that predictions needed is released by the first sweep after their end.
 */
const SWEPT_MS = 2 * 60_000;

/** @param need has one version more than are named, if there are as many */
export function stillNeeded(reference: string, { versions, until }: Need): RegistryError {
  if (versions.length === 0 && until === 0)
    return denied(
      `A version needs ${reference} by way of an index of indexes. Delete the version first, or wait until four days after it was deleted.`,
    );
  if (versions.length === 0)
    return denied(
      `Predictions of a version that was deleted may still need ${reference}. Delete it after ${minuteOf(until + SWEPT_MS)} UTC.`,
    );
  const noun = versions.length === 1 ? "version" : "versions";
  const named = versions.slice(0, NAMED_VERSIONS).join(", ");
  const more = versions.length > NAMED_VERSIONS ? " and others" : "";
  return denied(
    `${reference} is needed by ${noun} ${named}${more} of this model. Delete the ${noun} first. Four days later, when no prediction needs it any more, it can be deleted.`,
  );
}

export const namedTooOften = (reference: string): RegistryError =>
  denied(
    `${reference} has more than ${MAX_TAGS} tags, or more than ${MAX_NAMERS} indexes of this repository lead to it. Delete those first.`,
  );

const denied = (message: string) => new RegistryError(409, "DENIED", message);

const minuteOf = (time: number) => new Date(time).toISOString().slice(0, 16).replace("T", " ");
