/** Media types of sound, and their formats in the convention. */
import { SPEECH_FORMATS, type SpeechFormat } from "../../protocol/openai/audio.ts";

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
