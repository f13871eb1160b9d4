/** The body of a speech call as the input of a Cog model that speaks. */
import type { Json } from "../../protocol/common.ts";
import type { SpeechRequest } from "../../protocol/openai/audio.ts";
import {
  type Field,
  isFreeText,
  isNumber,
  isText,
  lacks,
  ModelFields,
  optionFor,
} from "./model-fields.ts";
import type { Fields } from "./response-json.ts";

interface SpeechFields {
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

/**
 * Returns the input. Parameters that the convention does not name are passed on: a model knows inputs of its
 * own.
 * @throws UnfitParameter
 */
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

function named(field: Field | undefined, param: string): string {
  if (!field) throw lacks(param);
  return field.name;
}
