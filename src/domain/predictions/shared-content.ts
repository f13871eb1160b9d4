/** What of a prediction is shown to whoever has a link to it. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { type IsSecret, withoutHidden } from "../schemas/secret-fields.ts";

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

/** Without what is secret. Undefined for what is no object: it has no names to tell that by. */
export const sharedInput = (
  input: Json | undefined,
  isHidden: IsSecret,
): Record<string, Json> | undefined =>
  isObject(input) ? withoutHidden(input, isHidden) : undefined;

/** Whether an input names a file: by itself, or by the upload that it is the content of. */
export function namesFile(input: string, source: string, name: string): boolean {
  if (new RegExp(`/v1/uploads/${source}"`, "i").test(input)) return true;
  const files = input.split(new RegExp(`/v1/files/${source}/`, "i")).slice(1);
  // What goes on is another file of the same source, of which nothing was said.
  return files.some((file) => file.startsWith(name) && !/^[\w.-]/.test(file.slice(name.length)));
}
