/** The body of a completion as the input of a Cog model, which takes one text at a time. */
import { type Keywords, objectOf, SchemaResolver } from "../schemas/input-form-schema.ts";
import { type Fields, listOf } from "./response-json.ts";

/**
 * Translates the body. Some clients send a list even of one prompt or stop sequence, and null for what they
 * leave to the model.
 * @returns undefined for several prompts, or tokens
 */
export function completionInputOf(body: Fields, schema: Keywords): Fields | undefined {
  const resolver = new SchemaResolver(schema);
  const fields = objectOf(resolver.resolve(schema).properties);
  const takesList = (name: string) =>
    [resolver.resolve(fields[name]).type].flat().includes("array");
  const given = Object.entries(body).filter(([, value]) => value !== null);
  const single = given.map(([name, value]) => {
    const [only, ...others] = listOf(value);
    const isSingle = SINGLE.includes(name) && only !== undefined && others.length === 0;
    return [name, isSingle && !takesList(name) ? only : value];
  });
  const input: Fields = Object.fromEntries(single);
  return typeof input.prompt === "string" || takesList("prompt") ? input : undefined;
}

const SINGLE = ["prompt", "stop"];
