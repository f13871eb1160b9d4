/** The form of a transcription or translation as the input of a Cog model that transcribes. */

import type { Fields } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import type { TranscriptionRequest } from "../../protocol/openai/audio.ts";
import {
  type Field,
  type HearingFields,
  hearingFields,
  isBoolean,
  isList,
  TRANSLATE,
} from "../images/model-fields.ts";
import { lacks, named, optionFor, UnfitParameter } from "./unsupported.ts";

export type HearingCall = "audio_transcriptions" | "audio_translations";

/** Parameters that no model has by another name. A model that has them by this one gets them. */
const SPECIAL = ["languages", "keywords", "known_speaker_names", "known_speaker_references"];

const DIARIZED = new UnfitParameter(
  "response_format",
  "unsupported_parameter",
  "'response_format' cannot be 'diarized_json': this model does not identify speakers. Use 'json', 'text', 'srt', 'vtt' or 'verbose_json'.",
);

/** @throws UnfitParameter */
export function hearingInput(
  call: HearingCall,
  request: TranscriptionRequest,
  schema: Json,
): Fields {
  const fields = hearingFields(schema);
  if (!fields) throw lacks("file", "audio");
  const { model, file, language, prompt, temperature, response_format, stream, ...others } =
    request;
  const { timestamp_granularities, include, chunking_strategy, webhook: _, ...own } = others;
  const rest = Object.entries(own).filter(([, value]) => value !== null && value !== undefined);
  const special = rest.find(([name]) => SPECIAL.includes(name) && !fields.names.includes(name));
  if (special) throw lacks(special[0]);
  if (include?.includes("logprobs") && !fields.names.includes("include")) throw lacks("include");
  if (response_format === "diarized_json") throw DIARIZED;
  const asksWords = response_format === "verbose_json" && timestamp_granularities?.includes("word");
  return {
    ...Object.fromEntries(rest),
    [fields.audio.name]: file,
    ...(language && languageOf(language, fields.language)),
    ...(prompt && { [named(fields.prompt, "prompt")]: prompt }),
    ...temperatureOf(temperature, fields.temperature),
    ...taskOf(call, fields.task),
    ...(asksWords && wordsOf(fields)),
  };
}

/** Returns the language as the model takes it: as a code or as a name. */
function languageOf(language: string, field: Field | undefined): Fields {
  if (!field) throw lacks("language");
  return { [field.name]: optionFor(field, "language", language, ...namesOf(language)) };
}

function namesOf(language: string): string[] {
  try {
    return [new Intl.DisplayNames("en", { type: "language" }).of(language) ?? language];
  } catch {
    // The text is no code of a language.
    return [];
  }
}

function temperatureOf(temperature: number | null | undefined, field: Field | undefined): Fields {
  // 0 is the convention's default, and clients may send it.
  if (temperature == null || (temperature === 0 && !field)) return {};
  return { [named(field, "temperature")]: temperature };
}

function taskOf(call: HearingCall, task: Field | undefined): Fields {
  const translates = call === "audio_translations";
  if (!task && translates) throw lacks("file", TRANSLATE);
  if (!task) return {};
  if (isBoolean(task.keywords)) return { [task.name]: translates };
  return { [task.name]: translates ? TRANSLATE : "transcribe" };
}

function wordsOf({ words, times }: HearingFields): Fields {
  const param = "timestamp_granularities";
  if (words) return { [words.name]: true };
  if (!times) throw lacks(param, "word_timestamps");
  if (isList(times.keywords)) return { [times.name]: ["word", "segment"] };
  return { [times.name]: optionFor(times, param, "word", "words") };
}
