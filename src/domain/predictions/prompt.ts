/** The text that a run was made with, by which people find it in a list. */
import { numberIn } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import { oneLine } from "../../lib/text.ts";
import type { Json } from "../../protocol/common.ts";

/** The fields that most models call their prompt, in the order in which they are looked for. */
const NAMES = ["prompt", "text", "input"];

/** Addresses and colours do not help to find a run. */
const NO_WORDS = /^(?:https?:|data:|\/v1\/|#)/;

/** A number that has kept its digits is a string, too. */
export const isText = (value: Json): value is string =>
  typeof value === "string" && numberIn(value) === undefined;

export const isWords = (text: string) => text !== "" && !NO_WORDS.test(text);

/**
 * Returns the prompt of an input, of the last message of a conversation, or else the longest text.
 * @param input without secret fields
 * @param isChoice whether a field is a choice from a list, which says less than a text that was written
 * @returns empty if the input has no text
 */
export function promptOf(
  input: { [name: string]: Json },
  isChoice: (name: string) => boolean,
): string {
  const asked = Object.entries(input).filter(([name]) => !isChoice(name));
  const texts = new Map(asked.map(([name, value]) => [name, textOf(value)]));
  const prompt = NAMES.map((name) => texts.get(name)).find(Boolean);
  const said = [input.messages, input.input].map(textOfLast).find((text) => text !== undefined);
  const [longest = ""] = [...texts.values()].toSorted((a, b) => b.length - a.length);
  return prompt ?? said ?? longest;
}

const MAX_EXCERPT = 80;

export const promptExcerpt = (...of: Parameters<typeof promptOf>): string =>
  oneLine(promptOf(...of), MAX_EXCERPT);

/** Lists of several texts have labels, too, as those of an embedding. */
function textOf(value: Json): string {
  const texts = [value].flat();
  return texts.every(isText) ? texts.filter(isWords).join(", ") : "";
}

/** Returns the text of a conversation's last message, which is what was asked now. */
function textOfLast(messages: Json | undefined): string | undefined {
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isObject(last)) return undefined;
  const { content } = last;
  const [part] = Array.isArray(content)
    ? content.filter((one) => isObject(one) && typeof one.text === "string")
    : [];
  const text = isObject(part) ? part.text : content;
  return typeof text === "string" ? text : undefined;
}
