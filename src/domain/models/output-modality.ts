/** The kind of output that a model makes, from its schemas and the APIs that it answers. */
import { fieldsOf } from "../../lib/fields.ts";
import type { Compatibilities, Schemas } from "../../protocol/model.ts";
import { type Keywords, SchemaResolver } from "../schemas/input-form-schema.ts";
import { versionSchema } from "../schemas/version-schemas.ts";

export const OUTPUT_MODALITIES = [
  ...["text", "pictures", "sound", "video", "embeddings", "files", "data"],
] as const;
export type OutputModality = (typeof OUTPUT_MODALITIES)[number];

/** The kinds by API. The first API that a version answers decides. */
const BY_API: [keyof Compatibilities, OutputModality][] = [
  ["vendora_images_generations", "pictures"],
  ["vendora_images_edits", "pictures"],
  ["vendora_audio_speech", "sound"],
  ["vendora_chat_completions", "text"],
  ["vendora_responses", "text"],
  ["vendorb_messages", "text"],
  ["vendora_completions", "text"],
  ["vendora_audio_transcriptions", "text"],
  ["vendora_audio_translations", "text"],
  ["vendora_embeddings", "embeddings"],
  ["vendora_rerank", "data"],
  ["vendora_moderations", "data"],
];

/** The kinds by word: a schema says only that the output is a file, and the words around it tell the kind. */
const BY_WORD: [RegExp, OutputModality][] = [
  [/video|movie|film|animation/i, "video"],
  [/audio|speech|sound|music|voice|song/i, "sound"],
  [/image|picture|photo|drawing|painting|mask|depth/i, "pictures"],
];

/** @returns undefined for a version whose output may be anything */
export function outputModalityOf(
  { schemas, compatibilities }: { schemas: Schemas; compatibilities: Compatibilities },
  name: string,
): OutputModality | undefined {
  const api = BY_API.find(([flag]) => compatibilities[flag]);
  if (api) return api[1];
  const output = versionSchema(schemas, "output");
  const resolver = SchemaResolver.of(output);
  const root = resolver.resolve(output);
  const item = root.type === "array" ? resolver.resolve(root.items) : root;
  if (item.type === "string") {
    if (item.format !== "uri") return "text";
    const words = [name, wordsOf(root), wordsOf(item), ...inputNames(schemas)];
    // Words of the output are searched before names of inputs.
    for (const text of words) {
      const word = BY_WORD.find(([pattern]) => pattern.test(text));
      if (word) return word[1];
    }
    return "files";
  }
  if (root.type === "array" && (isNumber(item) || isNumber(resolver.resolve(item.items))))
    return "embeddings";
  return item.type === undefined ? undefined : "data";
}

const isNumber = ({ type }: Keywords) => type === "number";

const wordsOf = ({ title, description }: Keywords) =>
  [title, description].filter((one) => typeof one === "string").join(" ");

/** Returns the names of file inputs: a model that takes a picture mostly returns one. */
function inputNames(schemas: Schemas): string[] {
  const input = versionSchema(schemas, "input");
  const resolver = SchemaResolver.of(input);
  return Object.entries(fieldsOf(resolver.resolve(input).properties))
    .filter(([, part]) => resolver.resolve(part).format === "uri")
    .map(([one]) => one);
}
