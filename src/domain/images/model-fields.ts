/** The inputs of a Cog model by their purpose: models have different names for the same thing. */
import { fieldsOf, listOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { enumOptions, type Keywords, SchemaResolver } from "../schemas/input-form-schema.ts";

export interface Field {
  name: string;
  keywords: Keywords;
}

export class ModelFields {
  readonly #resolver: SchemaResolver;
  readonly #properties: Keywords;
  readonly #required: Json[];

  constructor(schema: Json) {
    this.#resolver = SchemaResolver.of(schema);
    const { properties, required } = this.#resolver.resolve(schema);
    this.#properties = fieldsOf(properties);
    this.#required = listOf(required);
  }

  get names(): string[] {
    return Object.keys(this.#properties);
  }

  find(names: readonly string[], isKind: (part: Keywords) => boolean): Field | undefined {
    for (const name of names) {
      if (!Object.hasOwn(this.#properties, name)) continue;
      const keywords = this.#resolver.resolve(this.#properties[name]);
      if (isKind(keywords)) return { name, keywords };
    }
    return undefined;
  }

  every(isKind: (part: Keywords) => boolean): Field[] {
    return this.names.flatMap((name) => this.find([name], isKind) ?? []);
  }

  needsOnly(...fields: (Field | undefined)[]): boolean {
    return this.#required.every((name) => fields.some((field) => field?.name === name));
  }
}

export const typesOf = ({ type }: Keywords): Json[] => [type ?? []].flat();

/** Whether a part is a file. `SchemaResolver` merges a file or list of files into a text that may be a list. */
export const isFile = (part: Keywords) => typesOf(part).includes("string") && part.format === "uri";

export const isText = (part: Keywords) =>
  part.format !== "uri" && (typesOf(part).includes("string") || enumOptions(part) !== undefined);

/** Whether a part is a text that can be an answer: files and choices are texts, too, but no answers. */
export const isFreeText = (part: Keywords) => isText(part) && !enumOptions(part);

export const isList = (part: Keywords) => typesOf(part).includes("array");

export const isNumber = (part: Keywords) =>
  typesOf(part).some((type) => type === "number" || type === "integer");

export const isBoolean = (part: Keywords) => typesOf(part).includes("boolean");

/** Returns the title and description that the model's author has written. */
export const saidOf = ({ title, description }: Keywords): string =>
  [title, description].filter((text) => typeof text === "string").join(" ");

export interface SpeechFields {
  text: Field;
  voice: Field | undefined;
  speed: Field | undefined;
  format: Field | undefined;
  instructions: Field | undefined;
}

const TEXT = ["text", "input_text", "text_input", "gen_text", "input", "prompt"];
const VOICE = ["voice", "voice_id", "speaker", "speaker_id", "voice_preset", "history_prompt"];
const SPEED = ["speed", "speaking_rate", "rate"];
const FORMAT = ["response_format", "output_format", "audio_format", "format"];
const INSTRUCTIONS = ["instructions", "instruction", "instruct", "style_prompt", "style"];

/** Returns undefined for a model that takes no text, or needs more than a text and a voice. */
export function speechFields(schema: Json): SpeechFields | undefined {
  const fields = new ModelFields(schema);
  const text = fields.find(TEXT, isFreeText);
  const voice = fields.find(VOICE, isText);
  if (!text || !fields.needsOnly(text, voice)) return undefined;
  return {
    text,
    voice,
    speed: fields.find(SPEED, isNumber),
    format: fields.find(FORMAT, isText),
    instructions: fields.find(INSTRUCTIONS, isFreeText),
  };
}

/** The fields of a model's output that may have the sound, if it has more than that. */
export const SOUND_PLACES = [
  ...["audio_out", "audio", "audio_output", "audio_file", "output", "speech", "wav"],
];

/** Names of the file: those that say that it is audio, then those for any file. */
export const AUDIO = ["audio", "audio_file", "audio_path", "audio_url", "input_audio", "speech"];
export const ANY_FILE = ["file", "file_path", "filepath", "file_url", "media", "input"];
const LANGUAGE = ["language", "lang", "language_code", "source_language"];
const PROMPT = ["prompt", "initial_prompt"];
const WORDS = ["word_timestamps", "word_level_timestamps"];
/** Names of a field whose options say which timestamps are returned, such as of words or of segments. */
const TIMES = ["timestamp", "timestamps", "return_timestamps", "timestamp_granularities"];

export const TRANSLATE = "translate";

export interface HearingFields {
  audio: Field;
  language: Field | undefined;
  prompt: Field | undefined;
  temperature: Field | undefined;
  /** The choice between `transcribe` and `translate`, or a switch. */
  task: Field | undefined;
  words: Field | undefined;
  times: Field | undefined;
  names: string[];
}

/** Returns undefined for a model that takes no file, or needs more than one. */
export function hearingFields(schema: Json): HearingFields | undefined {
  const fields = new ModelFields(schema);
  const audio = fields.find([...AUDIO, ...ANY_FILE], isFile);
  const choice = fields.find(["task"], (part) => enumOptions(part)?.includes(TRANSLATE) ?? false);
  const task = choice ?? fields.find([TRANSLATE], isBoolean);
  if (!audio || !fields.needsOnly(audio, task)) return undefined;
  return {
    audio,
    task,
    language: fields.find(LANGUAGE, isText),
    prompt: fields.find(PROMPT, isFreeText),
    temperature: fields.find(["temperature"], isNumber),
    words: fields.find(WORDS, isBoolean),
    times: fields.find(TIMES, (part) => enumOptions(part) !== undefined || isList(part)),
    names: fields.names,
  };
}
