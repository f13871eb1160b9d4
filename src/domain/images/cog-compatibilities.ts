/**
 * Finds the calls of the OpenAI convention that a Cog model answers, from its schemas: it gets the body of
 * the call as its input, so it must name what is essential, and require nothing else. Calls whose body is
 * made into its input have rules of their own.
 */
import type { Json } from "../../protocol/common.ts";
import { type Compatibilities, newCompatibilities, type Schemas } from "../../protocol/model.ts";
import {
  enumOptions,
  type Keywords,
  listOf,
  objectOf,
  SchemaResolver,
} from "../schemas/input-form-schema.ts";
import { versionSchema } from "../schemas/version-schemas.ts";
import { audioCompatibilities } from "./audio-compatibilities.ts";
import { pictureSchema } from "./picture-schema.ts";

export const NO_COMPATIBILITIES: Compatibilities = newCompatibilities.parse({});

export function cogCompatibilities(schemas: Schemas): Compatibilities {
  const input = versionSchema(schemas, "input");
  const inputs = SchemaResolver.of(input);
  const { properties, required } = inputs.resolve(input);
  const fields = objectOf(properties);
  const takes = (name: string, accepts: (part: Keywords) => boolean) =>
    name in fields &&
    accepts(inputs.resolve(fields[name])) &&
    listOf(required).every((other) => other === name || other === "model");

  const output = versionSchema(schemas, "output");
  const outputs = SchemaResolver.of(output);
  const answer = outputs.resolve(output);
  const writes = isText(answer) || (isList(answer) && isText(outputs.resolve(answer.items)));

  const chat = writes && takes("messages", isList);
  return {
    ...NO_COMPATIBILITIES,
    vendora_chat_completions: chat,
    // A call with `input` is translated for a model that has only `messages`.
    vendora_responses: chat && !("input" in fields),
    vendora_embeddings: takes("input", acceptsText) && isEmbeddings(answer, outputs),
    vendora_completions: writes && takes("prompt", isText),
    ...audioCompatibilities(schemas),
    ...imageCalls(schemas),
  };
}

/**
 * Returns the image calls. Their input is made from the call (domain/openai/image-input.ts), which always
 * has a prompt.
 */
function imageCalls(schemas: Schemas) {
  const { makesPictures, required, image } = pictureSchema(schemas);
  const needs = required.filter((name) => name !== "prompt");
  return {
    vendora_images_generations: makesPictures && needs.length === 0,
    vendora_images_edits:
      makesPictures && image !== undefined && needs.every((name) => name === image.name),
  };
}

const typesOf = ({ type }: Keywords): Json[] => [type ?? []].flat();

/** Whether a part is a text that can be an answer: files and choices are texts, too, but no answers. */
const isText = (part: Keywords) =>
  typesOf(part).includes("string") && part.format !== "uri" && !enumOptions(part);

const isList = (part: Keywords) => typesOf(part).includes("array");

const acceptsText = (part: Keywords) => isText(part) || isList(part);

/**
 * Whether an answer is one that `domain/openai/embedding.ts` translates: a vector, a list of them, or an
 * object with them.
 */
function isEmbeddings(answer: Keywords, resolver: SchemaResolver): boolean {
  const { data, embeddings, embedding } = objectOf(answer.properties);
  if (data !== undefined || embeddings !== undefined || embedding !== undefined) return true;
  const item = resolver.resolve(answer.items);
  return (
    isList(answer) && (isNumber(item) || (isList(item) && isNumber(resolver.resolve(item.items))))
  );
}

const isNumber = (part: Keywords) => typesOf(part).includes("number");
