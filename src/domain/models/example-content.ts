/** The content of an example: a copy of a run, with files of its own. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";

/** The characters of an example's input as JSON text. An account has room for some hundred examples. */
export const MAX_INPUT_CHARS = 32_000;
export const MAX_OUTPUT_CHARS = 100_000;
export const MAX_FILES = 20;
export const MAX_FILE_BYTES = 25 * 1024 * 1024;

export function mapStrings(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((one) => mapStrings(one, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, mapStrings(one, change)]),
  );
}

export function stringsOf(value: Json): Set<string> {
  const found = new Set<string>();
  mapStrings(value, (text) => {
    found.add(text);
    return text;
  });
  return found;
}

export interface NamedFile {
  source: string;
  /** The name of the file; undefined for the file of an upload. */
  name: string | undefined;
}

const FILE = /^\/v1\/files\/([\w-]+)\/([\w.%-]+)$/;
const UPLOAD = /^\/v1\/uploads\/([0-9a-f-]{36})$/i;

/** @param origins of this deployment, and of its files */
export function fileNamed(text: string, origins: string[]): NamedFile | undefined {
  if (!text.includes("/v1/")) return undefined;
  const url = URL.parse(text, origins[0]);
  if (!url || !origins.includes(url.origin)) return undefined;
  const [, source, name] = FILE.exec(url.pathname) ?? UPLOAD.exec(url.pathname) ?? [];
  return source === undefined ? undefined : { source: source.toLowerCase(), name };
}

export const ownFile = (exampleId: string, name: string) => `/v1/files/${exampleId}/${name}`;

/** Returns the name of a file that is the example's own. */
export function ownFileName(exampleId: string, text: string): string | undefined {
  const prefix = ownFile(exampleId, "");
  return text.startsWith(prefix) ? text.slice(prefix.length) : undefined;
}
