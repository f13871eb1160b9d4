/**
 * The fields of calls' bodies that are files. A server that speaks the convention has no schema that says so.
 */
import type { Json } from "../../protocol/common.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";

const FIELDS: { [Call in OpenAiCall]?: string[] } = {
  images_edits: ["image", "mask"],
  audio_transcriptions: ["file"],
  audio_translations: ["file"],
};

const FILE = { type: "string", format: "uri" };
const FILES = { anyOf: [FILE, { type: "array", items: FILE }] };

/** Returns the fields that are files; undefined for a call that has none, whose body is JSON. */
export const fileFields = (call: OpenAiCall): string[] | undefined => FIELDS[call];

/** The schemas by call. They are always the same objects, since caches of schemas are keyed by them. */
const SCHEMAS = new Map<string, Json>(
  Object.entries(FIELDS).map(([call, names]) => {
    const properties = Object.fromEntries(names.map((name) => [name, FILES]));
    return [call, { type: "object", properties }];
  }),
);

/** Returns a JSON Schema of the body that describes only its files; undefined for a call that has none. */
export const bodyFiles = (call: OpenAiCall): Json | undefined => SCHEMAS.get(call);
