/** The transcript of a model, in any shape: text, segments with times, or an object with both. */
import { numberIn } from "../../lib/exact-json.ts";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "../../lib/fields.ts";
import { isObject, withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Cost } from "../../protocol/money.ts";
import {
  type TranscriptFormat,
  type TranscriptSegment,
  transcriptSegment,
} from "../../protocol/openai/audio.ts";
import {
  costIn,
  ended,
  type LogEntry,
  type Translation,
  TranslationFailed,
  valuesIn,
} from "./translation.ts";
import { UnfitParameter } from "./unsupported.ts";

interface Timed {
  start: number;
  end: number;
  text: string;
}

interface Segment extends Timed {
  more: Fields;
}

interface Transcript {
  text: string;
  language: string | undefined;
  /** The duration of the audio, in seconds. */
  duration: number | undefined;
  /** The segments. Undefined: the model gives no times. */
  segments: Segment[] | undefined;
  words: Timed[] | undefined;
}

const EXPECTED =
  "Expected: text, a list of texts, or an object with 'text' or 'transcription', and 'segments' or 'chunks' with times.";

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
  if (!segments)
    throw new TranslationFailed(`The model's output is not a valid transcript. ${EXPECTED}`);
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
  return { segments, words: all.length > 0 ? all : undefined, duration: segments.at(-1)?.end };
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

export interface Asked {
  format: TranscriptFormat;
  isTranslation: boolean;
  language?: string | undefined;
  temperature?: number | undefined;
  granularities?: readonly string[] | undefined;
}

export const TIMED_FORMATS: readonly TranscriptFormat[] = ["srt", "verbose_json", "vtt"];

/** Returns text, or an object for JSON. @throws UnfitParameter for a format that needs missing times */
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

/** The answer of a server, which may be JSON instead. @throws UnfitParameter, and as `transcript` */
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
  const message = `'response_format' cannot be '${format}': the model returns text without timestamps. Use 'json' or 'text'.`;
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

/** Returns a segment with the convention's measures: those that the model lacks are 0. */
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

/** Returns an answer or an event whose usage, if it has one, says what the service knows that it costs. */
export function withCost(answer: Fields, cost?: Cost | null): Fields {
  if (!isFields(answer.usage)) return answer;
  const { cost: _, cost_details: _details, ...usage } = answer.usage;
  return { ...answer, usage: { ...usage, ...costIn(cost) } };
}

const DELTA = "transcript.text.delta";
const DONE = "transcript.text.done";

export class TranscriptStream implements Translation {
  #text = "";
  /** The last event of a server, whose cost is known at the end. */
  #done: Fields | undefined;

  /** @throws TranslationFailed */
  take({ event, data }: LogEntry): Fields[] {
    if (event === "output") return [...valuesIn(data)].flatMap((value) => this.#take(value));
    return event === "done" ? [this.#end(data)] : [];
  }

  #take(value: Json): Fields[] {
    if (isFields(value) && textOf(value.type).startsWith("transcript.")) {
      this.#text += value.type === DELTA ? textOf(value.delta) : "";
      const event = withCost(withoutNulls(value));
      if (value.type !== DONE) return [event];
      this.#done ??= event;
      return [];
    }
    const delta = deltaOf(value);
    if (delta === "") return [];
    this.#text += delta;
    return [{ type: DELTA, delta }];
  }

  #end(data: Json): Fields {
    const { metrics, cost } = ended.parse(data);
    if (this.#done) return withCost(this.#done, cost);
    const { input_tokens: input, output_tokens: output } = metrics ?? {};
    const usage = input !== undefined &&
      output !== undefined && {
        usage: {
          type: "tokens",
          input_tokens: input,
          output_tokens: output,
          total_tokens: input + output,
          ...costIn(cost),
        },
      };
    return { type: DONE, text: this.#text, ...usage };
  }
}

/** Returns the text of a chunk: vLLM streams transcripts as it does chats. */
function deltaOf(value: Json): string {
  if (typeof value === "string") return value;
  if (isFields(value) && Array.isArray(value.choices))
    return listOf(value.choices)
      .map((choice) => textOf(fieldsOf(fieldsOf(choice).delta).content))
      .join("");
  return transcriptOf([value], false).text;
}
