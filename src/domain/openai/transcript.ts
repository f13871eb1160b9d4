/**
 * The transcript that a model has written, in any shape: text, segments with times, or an object with both.
 */
import { numberIn } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { type TranscriptSegment, transcriptSegment } from "../../protocol/openai/audio.ts";
import { valuesIn } from "./output-values.ts";
import { type Fields, listOf } from "./response-json.ts";
import { TranslationFailed } from "./translation.ts";

export interface Timed {
  start: number;
  end: number;
  text: string;
}

export interface Segment extends Timed {
  /** Other fields of the model's segment. */
  more: Fields;
}

export interface Transcript {
  text: string;
  language: string | undefined;
  /** The duration of the audio, in seconds. */
  duration: number | undefined;
  /** The segments. Undefined: the model gives no times. */
  segments: Segment[] | undefined;
  words: Timed[] | undefined;
}

const EXPECTED =
  "Expected is text, a list of it, or an object with 'text' or 'transcription', and 'segments' or 'chunks' with times.";

/**
 * @param isTranslation if a model gives both texts, the translated one counts
 * @throws TranslationFailed
 */
export function transcriptOf(outputs: Json[], isTranslation: boolean): Transcript {
  const values = [...valuesIn(outputs)];
  if (values.every((value) => typeof value === "string")) return plain(values.join(""));
  const whole = values.length === 1 && isObject(values[0]) ? values[0] : undefined;
  const translation = isTranslation ? whole?.translation : undefined;
  if (typeof translation === "string")
    // The segments are left out: they are those of the original language.
    return { ...plain(translation), duration: secondsOf(whole?.duration) };
  if (whole && !("start" in whole)) return structured(whole);
  return withSegments(values);
}

const plain = (text: string): Transcript => ({
  text: text.trim(),
  language: undefined,
  duration: undefined,
  segments: undefined,
  words: undefined,
});

/** Joins segments that come alone, one after the other. */
function withSegments(values: Json[]): Transcript {
  const segments = segmentsOf(values);
  if (!segments) throw new TranslationFailed(`The model's output is no transcript. ${EXPECTED}`);
  return { ...plain(textIn(segments)), ...timesOf(segments, undefined) };
}

function structured(whole: Fields): Transcript {
  const { text, transcription, transcript, segments, chunks, words } = whole;
  const listed = [segments, chunks, transcription, transcript].find(Array.isArray);
  const found = listed && segmentsOf(listed);
  const said = [text, transcription, transcript].find((one) => typeof one === "string");
  if (said === undefined && !found)
    throw new TranslationFailed(`The model's output has no text. ${EXPECTED}`);
  const { duration = undefined, ...times } = found ? timesOf(found, words) : {};
  const language = [whole.language, whole.detected_language].find((one) => typeof one === "string");
  return {
    ...plain(said ?? textIn(found ?? [])),
    ...times,
    language,
    duration: secondsOf(whole.duration) ?? duration,
  };
}

const textIn = (segments: Timed[]) =>
  segments
    .map(({ text }) => text.trim())
    .join(" ")
    .trim();

function timesOf(segments: Segment[], words: Json | undefined) {
  const own = segments.flatMap(({ more }) => timedIn(listOf(more.words)) ?? []);
  const all = (Array.isArray(words) ? timedIn(words) : undefined) ?? own;
  return {
    segments,
    words: all.length > 0 ? all : undefined,
    duration: segments.at(-1)?.end,
  };
}

/** Returns undefined unless all segments have text and times. */
function segmentsOf(values: Json[]): Segment[] | undefined {
  const segments: Segment[] = [];
  for (const value of values) {
    const { data } = transcriptSegment.safeParse(value);
    const timed = data && timedOf(data, segments.at(-1)?.end);
    if (!data || !timed) return undefined;
    const { start, end, text, timestamp, ...more } = data;
    segments.push({ ...timed, more: JSON.parse(JSON.stringify(more)) });
  }
  return segments;
}

function timedIn(values: Json[]): Timed[] | undefined {
  const all = values.map((value) => {
    const { data } = transcriptSegment.safeParse(value);
    return data && timedOf(data, undefined);
  });
  return all.every((one) => one !== undefined) ? all : undefined;
}

/** @param before the end of the previous segment, for one without a start */
function timedOf(
  { start, end, timestamp, text, word }: TranscriptSegment,
  before: number | undefined,
): Timed | undefined {
  const from = start ?? timestamp?.[0] ?? before;
  const words = text ?? word;
  if (from === undefined || typeof words !== "string") return undefined;
  return { start: from, end: Math.max(from, end ?? timestamp?.[1] ?? from), text: words };
}

function secondsOf(value: Json | undefined): number | undefined {
  const seconds = numberIn(value);
  return seconds !== undefined && seconds >= 0 ? seconds : undefined;
}
