/** The content of a prediction that anybody with a link to it may see. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { type IsSecret, withoutHidden } from "../schemas/secret-fields.ts";

/** The source in the addresses of a shared prediction's files: the prediction itself is not named. */
export const OWN_SOURCE = "run";

const SIGNED =
  /(https?:\/\/[^\s"'<>\\/]+)\/v1\/files\/([\w-]+)\/([\w.-]+)\?expires=\d+&signature=[\w-]+/g;

interface Place {
  predictionId: string;
  origins: readonly (string | undefined)[];
  address: string;
}

/** Gives files addresses that end with the share, in place of signed ones. @param json JSON text */
export const withSharedFiles = (json: string, { predictionId, origins, address }: Place): string =>
  json.replaceAll(SIGNED, (found: string, at: string, source: string, name: string) =>
    origins.includes(at)
      ? `${address}/files/${source === predictionId ? OWN_SOURCE : source}/${name}`
      : found,
  );

/** Returns the input without its secret fields. Undefined for one that is no object with names. */
export const sharedInput = (
  input: Json | undefined,
  isHidden: IsSecret,
): Record<string, Json> | undefined =>
  isObject(input) ? withoutHidden(input, isHidden) : undefined;

export function namesFile(input: string, source: string, name: string): boolean {
  if (new RegExp(`/(?:v1/uploads|replicate/v1/files)/${source}"`, "i").test(input)) return true;
  const files = input.split(new RegExp(`/v1/files/${source}/`, "i")).slice(1);
  // A longer name is another file of the same source, which the input does not name.
  return files.some((file) => file.startsWith(name) && !/^[\w.-]/.test(file.slice(name.length)));
}
