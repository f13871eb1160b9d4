/** Views of the playground that a version has in addition to the form. */

import { type Keywords, SchemaResolver } from "../../domain/schemas/input-form-schema.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { fieldsOf, listOf } from "../../lib/fields.ts";
import type { Compatibilities, Schemas } from "../../protocol/model.ts";
import { chatWire } from "./chat/wire.ts";

export type MediaView = "images" | "speech" | "transcription";
export const isMediaView = (view: string): view is MediaView =>
  ["images", "speech", "transcription"].includes(view);

export type View = "form" | "chat" | MediaView;

export const VIEW_NAMES: Record<View, string> = {
  chat: "Chat",
  images: "Images",
  speech: "Speech",
  transcription: "Transcription",
  form: "Form",
};

interface Version {
  schemas: Schemas;
  compatibilities: Compatibilities;
}

const PICTURE = /image|picture|photo|img|mask/i;

/** By what it is compatible with; or a picture in and a file out, by its schemas. */
export function ownView({
  schemas,
  compatibilities: can,
}: Version): Exclude<View, "form"> | undefined {
  const input = versionSchema(schemas, "input");
  const resolver = new SchemaResolver(input);
  const { properties } = resolver.resolve(input);
  const fields = Object.entries(fieldsOf(properties));
  const names = fields.map(([name]) => name);
  const isOpen = names.length === 0;
  if (chatWire(can) && (isOpen || names.includes("messages") || names.includes("input")))
    return "chat";
  if (can.vendora_images_generations || can.vendora_images_edits) return "images";
  if (can.vendora_audio_speech) return "speech";
  if (can.vendora_audio_transcriptions || can.vendora_audio_translations) return "transcription";
  const takesPicture = fields.some(
    ([name, part]) => PICTURE.test(name) && isFile(resolver.resolve(part)),
  );
  return takesPicture && givesFiles(schemas) ? "images" : undefined;
}

function givesFiles(schemas: Schemas): boolean {
  const output = versionSchema(schemas, "output");
  const resolver = new SchemaResolver(output);
  const whole = resolver.resolve(output);
  return isFile(whole) || isFile(resolver.resolve(whole.items));
}

const isFile = ({ type, format }: Keywords) =>
  format === "uri" && listOf([type ?? []].flat()).includes("string");
