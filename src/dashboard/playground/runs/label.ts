/** What a run is known by in a list: the first words that it was given, and a picture that it made. */
import { isObject } from "../../../lib/json.ts";
import type { Json } from "../../../protocol/common.ts";
import { outputOf } from "../../prediction-view/output-kind.ts";

const MAX_CHARS = 90;
/** Addresses and colours say nothing to whoever looks for a run. */
const NO_WORDS = /^(?:https?:|data:|\/v1\/|#)/;

/** The first words of a text that it has made; undefined for what is not text. */
export function wordsOf(output: Json): string | undefined {
  const texts = [output].flat().filter((one) => typeof one === "string");
  const text = texts.join("").slice(0, 4 * MAX_CHARS);
  return text === "" || NO_WORDS.test(text) ? undefined : cut(text);
}

/** The longest text that it was given; else its fields in a row. */
export function labelOf(input: Json): string {
  if (!isObject(input)) return "";
  const said = Array.isArray(input.messages) ? textOfLast(input.messages) : undefined;
  const texts = Object.values(input).filter((value) => typeof value === "string");
  const asked = texts.filter((text) => text !== "" && !NO_WORDS.test(text));
  const longest = asked.toSorted((a, b) => b.length - a.length)[0];
  return cut(said ?? longest ?? fieldsOf(input));
}

/** Of a conversation the last message, which is what was asked now. */
function textOfLast(messages: Json[]): string | undefined {
  const last = messages.at(-1);
  if (!isObject(last)) return undefined;
  const { content } = last;
  const [part] = Array.isArray(content)
    ? content.filter((one) => isObject(one) && typeof one.text === "string")
    : [];
  const text = isObject(part) ? part.text : content;
  return typeof text === "string" ? text : undefined;
}

const fieldsOf = (input: { [name: string]: Json }) =>
  Object.entries(input)
    .filter(([, value]) => typeof value !== "string")
    .map(([name, value]) => `${name}: ${JSON.stringify(value).slice(0, MAX_CHARS)}`)
    .join(", ");

function cut(text: string): string {
  const line = text
    .slice(0, 4 * MAX_CHARS)
    .trim()
    .replaceAll(/\s+/g, " ");
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS - 1).toWellFormed()}…` : line;
}

/** The address of the first picture of this deployment among its outputs. */
export function pictureOf(output: Json, host: string): string | undefined {
  for (const one of Array.isArray(output) ? output.slice(0, 4) : [output]) {
    const shown = typeof one === "string" ? outputOf(one, host) : undefined;
    if (shown?.kind === "image" && !shown.address.startsWith("data:")) return shown.address;
  }
  return undefined;
}
