/** What of a prediction is shown to whoever has a link to it. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";

/** Where a file of a shared prediction is found: `run` is the prediction itself, which is not named. */
export const OWN_SOURCE = "run";

const SIGNED =
  /(https?:\/\/[^\s"'<>\\/]+)\/v1\/files\/([\w-]+)\/([\w.-]+)\?expires=\d+&signature=[\w-]+/g;

interface Place {
  predictionId: string;
  /** Those of this deployment. */
  origins: readonly (string | undefined)[];
  /** The address of the share. */
  address: string;
}

/**
 * Files get addresses that end with the share, in place of those that whoever has them may pass on.
 * @param json JSON text
 */
export const withSharedFiles = (json: string, { predictionId, origins, address }: Place): string =>
  json.replaceAll(SIGNED, (found: string, at: string, source: string, name: string) =>
    origins.includes(at)
      ? `${address}/files/${source === predictionId ? OWN_SOURCE : source}/${name}`
      : found,
  );

/** Without its secret fields. Undefined for what is no object: it has no names to tell them by. */
export function sharedInput(
  input: Json | undefined,
  isSecret: (name: string) => boolean,
): { [name: string]: Json } | undefined {
  if (!isObject(input)) return undefined;
  return Object.fromEntries(Object.entries(input).filter(([name]) => !isSecret(name)));
}

/** Whether an input names an upload or another file of this source. */
export const namesSource = (input: string, source: string): boolean =>
  [`/v1/uploads/${source}"`, `/v1/files/${source}/`].some((path) => input.includes(path));
