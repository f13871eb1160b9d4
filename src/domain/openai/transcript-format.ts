/** A transcript in each of the convention's formats. */
import { numberIn } from "../../lib/exact-json.ts";
import { withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { TranscriptFormat } from "../../protocol/openai/audio.ts";
import { UnfitParameter } from "./model-fields.ts";
import { type Fields, isFields, textOf } from "./response-json.ts";
import type { Segment, Timed, Transcript } from "./transcript.ts";

export interface Asked {
  format: TranscriptFormat;
  isTranslation: boolean;
  language?: string | undefined;
  temperature?: number | undefined;
  granularities?: readonly string[] | undefined;
}

/** The formats that contain times. */
export const TIMED_FORMATS: readonly TranscriptFormat[] = ["srt", "verbose_json", "vtt"];

/**
 * Returns text, or an object for the formats that are JSON.
 * @throws UnfitParameter for a format with times of a transcript without them
 */
export function formatted(transcript: Transcript, asked: Asked): string | Fields {
  switch (asked.format) {
    case "text":
      return `${transcript.text}\n`;
    case "srt":
      return subtitles(timed(transcript, asked.format), ",", (n) => `${n + 1}\n`);
    case "vtt":
      return `WEBVTT\n\n${subtitles(timed(transcript, asked.format), ".", () => "")}`;
    case "verbose_json":
      return verbose(transcript, asked);
    default:
      return { text: transcript.text, ...usageOf(transcript) };
  }
}

/**
 * Returns the answer of a server of the convention. A server that knows fewer formats has answered in JSON.
 * @throws UnfitParameter, and the errors of `transcript`
 */
export function passedOn(
  output: Json | undefined,
  transcript: () => Transcript,
  asked: Asked,
): string | Fields {
  const isText = asked.format === "text" || asked.format === "srt" || asked.format === "vtt";
  if (isText) return typeof output === "string" ? output : formatted(transcript(), asked);
  return isFields(output) && "text" in output
    ? withoutNulls(output)
    : formatted(transcript(), asked);
}

const timed = ({ segments }: Transcript, format: TranscriptFormat): Segment[] => {
  if (segments) return segments;
  const message = `'response_format' cannot be '${format}': the model gives text without times. Ask for 'json' or 'text'.`;
  throw new UnfitParameter("response_format", "unsupported_parameter", message);
};

/** Returns subtitles. An empty line in a text would end a subtitle, and an arrow would begin one. */
function subtitles(segments: Timed[], point: string, head: (n: number) => string): string {
  const lines = segments.map(({ start, end, text }, n) => {
    const shown = text
      .trim()
      .replace(/\s*[\n\r]\s*/g, "\n")
      .replaceAll("-->", "->");
    return `${head(n)}${clock(start, point)} --> ${clock(end, point)}\n${shown}\n`;
  });
  return lines.length > 0 ? `${lines.join("\n")}\n` : "";
}

/** Returns a time such as 01:02:03.456. */
function clock(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1_000);
  const parts = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1_000) % 60];
  const [hours, minutes, rest] = parts.map((part) => String(Math.floor(part)).padStart(2, "0"));
  return `${hours}:${minutes}:${rest}${point}${String(ms % 1_000).padStart(3, "0")}`;
}

function verbose(transcript: Transcript, asked: Asked): Fields {
  const segments = timed(transcript, asked.format);
  const { text, language, duration = 0, words } = transcript;
  const granularities = asked.granularities ?? ["segment"];
  return {
    task: asked.isTranslation ? "translate" : "transcribe",
    language: asked.isTranslation ? "english" : (language ?? asked.language ?? "unknown"),
    duration,
    text,
    ...(granularities.includes("word") && {
      words: (words ?? []).map(({ text: word, start, end }) => ({ word: word.trim(), start, end })),
    }),
    ...(granularities.includes("segment") && {
      segments: segments.map((segment, id) => verboseSegment(segment, id, asked)),
    }),
    ...usageOf(transcript),
  };
}

/**
 * Returns a segment with the convention's measures, which only some models have: those that are missing are
 * 0.
 */
function verboseSegment({ start, end, text, more }: Segment, id: number, asked: Asked): Fields {
  const numberOf = (name: string, otherwise: number): Json =>
    numberIn(more[name]) === undefined ? otherwise : (more[name] ?? otherwise);
  const { tokens, speaker } = more;
  return {
    id,
    seek: numberOf("seek", 0),
    start,
    end,
    text,
    tokens: Array.isArray(tokens) ? tokens : [],
    temperature: numberOf("temperature", asked.temperature ?? 0),
    avg_logprob: numberOf("avg_logprob", 0),
    compression_ratio: numberOf("compression_ratio", 0),
    no_speech_prob: numberOf("no_speech_prob", 0),
    ...(textOf(speaker) && { speaker: textOf(speaker) }),
  };
}

const usageOf = ({ duration }: Transcript): Fields =>
  duration === undefined ? {} : { usage: { type: "duration", seconds: duration } };
