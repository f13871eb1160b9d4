/** Prints an output as it comes: text as one text, files as the paths where they were saved. */

import { messageText } from "../../domain/predictions/message-text.ts";
import { rootKeywords } from "../../domain/schemas/version-schemas.ts";
import { numberIn } from "../../lib/exact-json.ts";
import { readableJson } from "../../lib/readable-json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import type { OutputFiles } from "./output-files.ts";

export class Printer {
  readonly #write: (text: string) => void;
  readonly #files: OutputFiles;
  readonly #joins: boolean;
  #isFirst = true;
  /** Whether the last line has not ended. */
  #isOpen = false;

  constructor(write: (text: string) => void, files: OutputFiles, schemas: Schemas | undefined) {
    this.#write = write;
    this.#files = files;
    this.#joins = joinsText(schemas);
  }

  async add(value: Json): Promise<void> {
    const text = numberIn(value) === undefined ? messageText(value, this.#isFirst) : undefined;
    if (text !== undefined) this.#piece(text);
    else if (isText(value)) await this.#text(value);
    else if (Array.isArray(value) && value.every(isText))
      for (const item of value) await this.#text(item);
    else this.#line(readableJson(await this.#files.save(value)));
    this.#isFirst = false;
  }

  /** Ends the last line. */
  end(): void {
    if (this.#isOpen) this.#write("\n");
    this.#isOpen = false;
  }

  async #text(value: string): Promise<void> {
    const saved = await this.#files.save(value);
    if (saved === value && this.#joins) this.#piece(value);
    else this.#line(String(saved));
  }

  #piece(text: string): void {
    if (text === "") return;
    this.#write(text);
    this.#isOpen = !text.endsWith("\n");
  }

  #line(text: string): void {
    this.end();
    this.#write(`${text}\n`);
  }
}

/** Not a number that is marked, as its digits are printed. */
const isText = (value: Json): value is string =>
  typeof value === "string" && numberIn(value) === undefined;

/** Whether its strings are pieces of one text: those of a list are, if the schema says so. */
function joinsText(schemas: Schemas | undefined): boolean {
  if (!schemas) return true;
  const { type, ...keywords } = rootKeywords(schemas, "output");
  return type !== "array" || keywords["x-cog-array-display"] === "concatenate";
}
