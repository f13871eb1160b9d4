/**
 * What a model of the vendora convention says in a piece of its answer, or in the whole of it.
 * Thoughts and refusals are said, too.
 */
import type { Json } from "../../protocol/common.ts";

/**
 * @param isFirst whether nothing is shown before it
 * @returns "" for what only frames what is said, or repeats it; undefined for everything else, and
 * for what says more than text
 */
export function messageText(value: Json, isFirst: boolean): string | undefined {
  const said = part(value);
  if (!said) return undefined;
  if (typeof said.type === "string" && said.type.startsWith("response."))
    return inEvent(said.type, said, isFirst);
  if (!Array.isArray(said.choices)) return undefined;
  // The last piece of a stream may have the usage alone.
  if (said.choices.length === 0) return isNothing(said.error) ? "" : undefined;
  const choice = part(said.choices[0]);
  const piece = part(choice?.delta);
  const message = piece ?? part(choice?.message);
  if (!message || said.choices.length > 1) return undefined;
  return inMessage(message, piece ? "" : "\n\n");
}

type Part = { [key: string]: Json };

const part = (value: Json | undefined): Part | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;

const isNothing = (value: Json | undefined) =>
  value === undefined ||
  value === null ||
  value === "" ||
  (Array.isArray(value) && value.length === 0);

/** @param between thoughts and what is said after them */
function inMessage(message: Part, between: string): string | undefined {
  const { role, tool_calls, function_call, ...rest } = message;
  if (!isNothing(tool_calls) || !isNothing(function_call)) return undefined;
  const texts = [rest.reasoning_content ?? rest.reasoning, rest.content, rest.refusal]
    .filter((one) => !isNothing(one))
    .map(textIn);
  if (texts.length === 0) return Object.values(rest).every(isNothing) ? "" : undefined;
  return texts.some((text) => text === undefined) ? undefined : texts.join(between);
}

/** A text, or a list of parts that are texts, thoughts and refusals. */
function textIn(content: Json | undefined): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((one) => {
    const { text, refusal } = part(one) ?? {};
    return [text, refusal].find((words) => typeof words === "string");
  });
  return texts.includes(undefined) ? undefined : texts.join("");
}

/** What comes bit by bit. */
const BITS = new Set([
  "response.output_text.delta",
  "response.refusal.delta",
  "response.reasoning_text.delta",
  "response.reasoning_summary_text.delta",
]);

/** Before there is anything to be told, and of calls, which their items tell in the end. */
const FRAMES = new Set([
  "response.created",
  "response.queued",
  "response.in_progress",
  "response.output_item.added",
  "response.content_part.added",
  "response.reasoning_summary_part.added",
  "response.function_call_arguments.delta",
  "response.function_call_arguments.done",
]);

/** What has been told bit by bit once more: said only where there were no bits. */
const WHOLES: Record<string, (event: Part) => string | undefined> = {
  "response.output_text.done": ({ text }) => textIn(text),
  "response.refusal.done": ({ refusal }) => textIn(refusal),
  "response.reasoning_text.done": ({ text }) => textIn(text),
  "response.reasoning_summary_text.done": ({ text }) => textIn(text),
  "response.content_part.done": (event) => textIn([event.part ?? null]),
  "response.reasoning_summary_part.done": (event) => textIn([event.part ?? null]),
  "response.completed": ({ response }) => inItems(part(response)?.output),
};

function inEvent(type: string, event: Part, isFirst: boolean): string | undefined {
  if (BITS.has(type)) return textIn(event.delta);
  if (FRAMES.has(type)) return "";
  if (type === "response.output_item.done") {
    const item = part(event.item);
    const isSpoken = item?.type === "message" || item?.type === "reasoning";
    return isSpoken && !isFirst ? "" : inItems([event.item ?? null]);
  }
  const whole = WHOLES[type];
  if (!whole) return undefined;
  return isFirst ? whole(event) : "";
}

/** Items of a response; undefined when any is more than words. */
function inItems(items: Json | undefined): string | undefined {
  if (!Array.isArray(items)) return undefined;
  const texts = items.map((one) => {
    const { type, content, summary } = part(one) ?? {};
    if (type === "message") return textIn(content);
    return type === "reasoning" ? textIn(isNothing(content) ? summary : content) : undefined;
  });
  return texts.includes(undefined) ? undefined : texts.filter((text) => text !== "").join("\n\n");
}
