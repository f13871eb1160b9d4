/**
 * Limits the size of a version's schemas. Publishers write them, and other requests wait while they are read.
 */
import { isObject, type Json } from "../../lib/json.ts";
import { jsonText } from "./validation.ts";

/** The characters of both schemas together: 1,000 versions of a model take 100 MB of D1's 10 GB. */
const MAX_CHARS = 100_000;

/**
 * The parts of both schemas. Each takes 13 µs to check, twice if it is shared. Those of Cog's models have
 * some hundred.
 */
const MAX_PARTS = 4_000;

/**
 * The characters of all paths together. The validator identifies each part by its path, as a text: 10,000
 * parts below one name of 60,000 characters are 600 MB, and took 9 minutes.
 */
const MAX_PATH_CHARS = 2_000_000;

/**
 * Returns why the schemas are too large; undefined: they are not. It also reads values that are not valid
 * schemas.
 * @throws ValidationFailure for a value that is nested too deep
 */
export function faultOfSize(schemas: Json): string | undefined {
  if (jsonText(schemas, ["body", "schemas"]).length > MAX_CHARS)
    return `they can have at most ${MAX_CHARS} characters as JSON`;
  const size = new Size();
  size.add(schemas, 0);
  if (size.parts > MAX_PARTS) return `they can have at most ${MAX_PARTS} objects and lists`;
  if (size.pathChars > MAX_PATH_CHARS)
    return "their names are too long. Shorten those that have the most parts below them";
  return undefined;
}

class Size {
  parts = 0;
  pathChars = 0;

  /** @param path the length of the value's path */
  add(value: unknown, path: number): void {
    if (typeof value !== "object" || value === null) return;
    this.parts += 1;
    this.pathChars += path;
    const { $id, id } = isObject(value) ? value : {};
    // The paths of all parts below an id begin with it.
    const base = path + lengthOf($id) + lengthOf(id);
    for (const [name, part] of Object.entries(value)) this.add(part, base + name.length + 1);
  }
}

const lengthOf = (value: unknown) => (typeof value === "string" ? value.length : 0);
