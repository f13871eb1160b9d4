/** Speech: the input of a Cog model that speaks, and its sound, which is bytes or files. */

import type { Fields } from "../../lib/fields.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import {
  SPEECH_FORMATS,
  type SpeechFormat,
  type SpeechRequest,
  type SpeechUsage,
  speechEvent,
} from "../../protocol/openai/audio.ts";
import { samplesAt, UNKNOWN_LENGTH } from "../files/wav.ts";
import { type Field, SOUND_PLACES, speechFields } from "../images/model-fields.ts";
import { TranslationFailed, valuesIn } from "./translation.ts";
import { lacks, named, optionFor } from "./unsupported.ts";

/** Returns the input. Unknown parameters are passed on to the model. @throws UnfitParameter */
export function speechInput(request: SpeechRequest, schema: Json): Fields {
  const fields = speechFields(schema);
  if (!fields) throw lacks("input", "text");
  const { model, input, voice, instructions, response_format, speed, stream_format, ...own } =
    request;
  const { webhook: _, ...rest } = own;
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)),
    [fields.text.name]: input,
    ...voiceOf(voice, fields.voice),
    ...speedOf(speed, fields.speed),
    ...(instructions && { [named(fields.instructions, "instructions")]: instructions }),
    // A model without a choice of formats makes its own sound, whose type is then checked.
    ...(response_format &&
      fields.format && {
        [fields.format.name]: optionFor(fields.format, "response_format", response_format),
      }),
  };
}

/** Returns the voice. The convention requires one, also for a model that has only one voice. */
function voiceOf(voice: SpeechRequest["voice"], field: Field | undefined): Fields {
  const asked = typeof voice === "string" ? voice : voice?.id;
  return asked === undefined || !field ? {} : { [field.name]: optionFor(field, "voice", asked) };
}

function speedOf(speed: SpeechRequest["speed"], field: Field | undefined): Fields {
  if (speed == null) return {};
  if (field) return { [field.name]: speed };
  if (speed === 1) return {};
  throw lacks("speed");
}

export type SpeechPart =
  | { kind: "file"; name: string }
  | { kind: "bytes"; bytes: Uint8Array<ArrayBuffer>; type: string | undefined }
  | { kind: "usage"; usage: SpeechUsage };

const EXPECTED =
  "Expected: a file, base64, a list of these, or an object with one of these as 'audio'.";

/**
 * Yields the parts of one output.
 * @param predictionId whose files they have to be
 * @throws TranslationFailed
 */
export function* speechParts(predictionId: string, output: Json): Generator<SpeechPart> {
  for (const value of valuesIn(output)) yield* partsOf(predictionId, value);
}

function* partsOf(predictionId: string, value: Json): Generator<SpeechPart> {
  const event = speechEvent.safeParse(value).data;
  if (event?.type === "speech.audio.done") {
    if (event.usage) yield { kind: "usage", usage: event.usage };
  } else if (event) {
    yield { kind: "bytes", bytes: decoded(event.audio), type: event.content_type };
  } else if (typeof value === "string") {
    const name = fileIn(predictionId, value);
    yield name === undefined
      ? { kind: "bytes", bytes: decoded(value), type: undefined }
      : { kind: "file", name };
  } else {
    const place = isObject(value)
      ? SOUND_PLACES.find((one) => typeof value[one] === "string")
      : undefined;
    const sound = place !== undefined && isObject(value) ? value[place] : undefined;
    if (sound === undefined)
      throw new TranslationFailed(`The model's output has no audio. ${EXPECTED}`);
    yield* partsOf(predictionId, sound);
  }
}

/** Returns the name of a file of the prediction's output, by its URL. */
function fileIn(predictionId: string, url: string): string | undefined {
  const prefix = `/v1/files/${predictionId}/`;
  const path = /^https?:/.test(url) ? URL.parse(url)?.pathname : undefined;
  if (!path?.startsWith(prefix)) return undefined;
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch {
    return undefined;
  }
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  } catch {
    throw new TranslationFailed(
      `The model's output has a string that is neither a file nor base64. ${EXPECTED}`,
    );
  }
}

/** Media types of sound, and their formats in the convention. */

export const OPAQUE = "application/octet-stream";

const TYPES: Record<SpeechFormat, RegExp> = {
  mp3: /^audio\/(?:x-)?(?:mpeg|mp3)/,
  opus: /^(?:audio|application)\/(?:ogg|opus)/,
  aac: /^audio\/(?:x-)?(?:aac|aacp|mp4|m4a)/,
  flac: /^audio\/(?:x-)?flac/,
  wav: /^audio\/(?:x-|vnd\.)?wave?/,
  pcm: /^audio\/(?:x-)?(?:pcm|l16)/,
};

/** Returns undefined for a type that is none of the formats, or is unspecific. */
export const formatOf = (type: string): SpeechFormat | undefined =>
  SPEECH_FORMATS.find((format) => TYPES[format].test(type.toLowerCase()));

const SIGNS: [sign: string, at: number, type: string][] = [
  ["WAVE", 8, "audio/wav"],
  ["OggS", 0, "audio/ogg"],
  ["fLaC", 0, "audio/flac"],
  ["ID3", 0, "audio/mpeg"],
  ["\xff\xfb", 0, "audio/mpeg"],
  ["\xff\xf3", 0, "audio/mpeg"],
  ["\xff\xf1", 0, "audio/aac"],
];

/** Returns the type of a sound that comes without one, by its first bytes. */
export function typeOfSound(bytes: Uint8Array): string {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  return SIGNS.find(([sign, at]) => head.startsWith(sign, at))?.[2] ?? OPAQUE;
}

/**
 * Returns a file as a part of the whole: the first one gets a header with an unknown length, the others lose
 * their headers. Files of other formats stay as they are, since these can be joined.
 * @throws TranslationFailed
 */
export function wavPart(bytes: Uint8Array, type: string, isFirst: boolean): Uint8Array {
  if (formatOf(type) !== "wav") return bytes;
  const start = samplesAt(bytes);
  if (start === undefined)
    throw new TranslationFailed("The model's output has a WAV file without samples.");
  if (!isFirst) return bytes.subarray(start);
  const first = bytes.slice();
  const view = new DataView(first.buffer, first.byteOffset, first.byteLength);
  view.setUint32(4, UNKNOWN_LENGTH, true);
  view.setUint32(start - 4, UNKNOWN_LENGTH, true);
  return first;
}
