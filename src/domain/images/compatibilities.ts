/**
 * Finds the calls of the OpenAI convention that a Cog model answers, from its schemas: it gets the body of
 * the call as its input, so it must name what is essential, and require nothing else. Calls whose body is
 * made into its input have rules of their own.
 */
import { fieldsOf, listOf } from "../../lib/fields.ts";
import { type Compatibilities, newCompatibilities, type Schemas } from "../../protocol/model.ts";
import { type Keywords, SchemaResolver } from "../schemas/input-form-schema.ts";
import { versionSchema } from "../schemas/version-schemas.ts";
import {
  AUDIO,
  hearingFields,
  isFile,
  isFreeText,
  isList,
  ModelFields,
  SOUND_PLACES,
  saidOf,
  speechFields,
  typesOf,
} from "./model-fields.ts";
import { pictureSchema } from "./picture-schema.ts";

export const NO_COMPATIBILITIES: Compatibilities = newCompatibilities.parse({});

export function cogCompatibilities(schemas: Schemas): Compatibilities {
  const input = versionSchema(schemas, "input");
  const inputs = SchemaResolver.of(input);
  const { properties, required } = inputs.resolve(input);
  const fields = fieldsOf(properties);
  const takes = (name: string, accepts: (part: Keywords) => boolean) =>
    name in fields &&
    accepts(inputs.resolve(fields[name])) &&
    listOf(required).every((other) => other === name || other === "model");

  const output = versionSchema(schemas, "output");
  const outputs = SchemaResolver.of(output);
  const answer = outputs.resolve(output);
  const writes =
    isFreeText(answer) || (isList(answer) && isFreeText(outputs.resolve(answer.items)));

  const chat = writes && takes("messages", isList);
  return {
    ...NO_COMPATIBILITIES,
    vendora_chat_completions: chat,
    // A call with `input` is translated for a model that has only `messages`.
    vendora_responses: chat && !("input" in fields),
    vendora_embeddings: takes("input", acceptsText) && isEmbeddings(answer, outputs),
    vendora_completions: writes && takes("prompt", isFreeText),
    ...audioCompatibilities(schemas),
    ...imageCalls(schemas),
  };
}

/** Returns the image calls. Their input is made by domain/openai/image-input.ts, with a prompt. */
function imageCalls(schemas: Schemas) {
  const { makesPictures, required, image } = pictureSchema(schemas);
  const needs = required.filter((name) => name !== "prompt");
  return {
    vendora_images_generations: makesPictures && needs.length === 0,
    vendora_images_edits:
      makesPictures && image !== undefined && needs.every((name) => name === image.name),
  };
}

const acceptsText = (part: Keywords) => isFreeText(part) || isList(part);

/** Whether `domain/openai/embedding.ts` translates an answer: a vector, a list or an object of them. */
function isEmbeddings(answer: Keywords, resolver: SchemaResolver): boolean {
  const { data, embeddings, embedding } = fieldsOf(answer.properties);
  if (data !== undefined || embeddings !== undefined || embedding !== undefined) return true;
  const item = resolver.resolve(answer.items);
  return (
    isList(answer) &&
    [item, isList(item) ? resolver.resolve(item.items) : {}].some((one) =>
      typesOf(one).includes("number"),
    )
  );
}

/**
 * Finds the calls of audio that a Cog model answers, from its schemas: the bodies of these calls are made
 * into its input (domain/openai/speech.ts, transcription-input.ts).
 *
 * A schema has no word for sound: it does not say what an input or output file contains. So there has to be a
 * sign of speech as well: an input that only such models have, such as a voice or a language; an output that
 * only they have, such as segments; or a word of the author in titles and descriptions. Models that make
 * pictures and films of a text have sizes, which speech models do not have; music models have no voice to
 * choose.
 */

type AudioFlags = Pick<
  Compatibilities,
  "vendora_audio_speech" | "vendora_audio_transcriptions" | "vendora_audio_translations"
>;

function audioCompatibilities(schemas: Schemas): AudioFlags {
  const input = versionSchema(schemas, "input");
  const output = versionSchema(schemas, "output");
  const resolver = SchemaResolver.of(output);
  const answer = new Answer(resolver.resolve(output), resolver);
  const hears = isHearing(input, answer);
  return {
    vendora_audio_speech: isSpeaking(input, answer),
    vendora_audio_transcriptions: hears,
    vendora_audio_translations: hears && hearingFields(input)?.task !== undefined,
  };
}

class Answer {
  readonly keywords: Keywords;
  readonly #resolver: SchemaResolver;

  constructor(keywords: Keywords, resolver: SchemaResolver) {
    this.keywords = keywords;
    this.#resolver = resolver;
  }

  has(...names: string[]): Keywords | undefined {
    const properties = fieldsOf(this.keywords.properties);
    const name = names.find((one) => Object.hasOwn(properties, one));
    return name === undefined ? undefined : this.#resolver.resolve(properties[name]);
  }

  isEach(isKind: (part: Keywords) => boolean): boolean {
    const { keywords } = this;
    return isKind(keywords) || (isList(keywords) && isKind(this.#resolver.resolve(keywords.items)));
  }
}

const SIZES = ["width", "height", "aspect_ratio", "num_outputs", "num_images", "num_frames", "fps"];
const SPOKEN = /\b(?:speech|speak|spoken|say|voice|narrat|read aloud|text.to.speech|tts)/i;

function isSpeaking(input: Parameters<typeof speechFields>[0], answer: Answer): boolean {
  const fields = speechFields(input);
  if (!fields) return false;
  const { names } = new ModelFields(input);
  if (SIZES.some((name) => names.includes(name))) return false;
  const place = answer.has(...SOUND_PLACES);
  const gives = answer.isEach(isFile) || (place !== undefined && isFile(place));
  const says = [fields.text.keywords, answer.keywords].map(saidOf).join(" ");
  return gives && (fields.voice !== undefined || SPOKEN.test(says));
}

const HEARD = /\b(?:transcri|speech|spoken|subtitle|whisper)/i;
const AUDIBLE = /\b(?:audio|speech|spoken|sound|recording|transcri)/i;

function isHearing(input: Parameters<typeof hearingFields>[0], answer: Answer): boolean {
  const fields = hearingFields(input);
  if (!fields) return false;
  const { audio, language, task, words, times } = fields;
  const timed = answer.has("segments", "chunks", "transcription", "transcript");
  const writes =
    answer.isEach(isFreeText) || timed !== undefined || answer.has("text") !== undefined;
  const said = [audio.keywords, answer.keywords].map(saidOf).join(" ");
  const isAudio = AUDIO.includes(audio.name) || AUDIBLE.test(said);
  const isSpeech = [language, task, words, times, timed].some(Boolean) || HEARD.test(said);
  return writes && isAudio && isSpeech;
}
