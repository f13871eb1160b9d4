/**
 * The text in a response of the OpenAI-compatible APIs ("vendora"), whole or streamed. Includes
 * reasoning and refusals.
 */
import type { Json } from "../../protocol/common.ts";

/**
 * @param isFirst whether nothing was displayed before it
 * @returns "" for an event without text of its own; undefined when the value is something else, or
 * has more than text
 */
export function messageText(value: Json, isFirst: boolean): string | undefined {
  const body = part(value);
  if (!body) return undefined;
  if (typeof body.type === "string" && body.type.startsWith("response."))
    return inEvent(body.type, body, isFirst);
  if (!Array.isArray(body.choices)) return undefined;
  // The last chunk of a stream may carry only the usage.
  if (body.choices.length === 0) return isNothing(body.error) ? "" : undefined;
  const choice = part(body.choices[0]);
  const piece = part(choice?.delta);
  const message = piece ?? part(choice?.message);
  if (!message || body.choices.length > 1) return undefined;
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

/** @param between the separator of reasoning and content */
function inMessage(message: Part, between: string): string | undefined {
  const { role, tool_calls, function_call, ...rest } = message;
  if (!isNothing(tool_calls) || !isNothing(function_call)) return undefined;
  const texts = [rest.reasoning_content ?? rest.reasoning, rest.content, rest.refusal]
    .filter((one) => !isNothing(one))
    .map(textIn);
  if (texts.length === 0) return Object.values(rest).every(isNothing) ? "" : undefined;
  return texts.some((text) => text === undefined) ? undefined : texts.join(between);
}

/** A string, or a list of text and refusal parts. */
function textIn(content: Json | undefined): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((one) => {
    const { text, refusal } = part(one) ?? {};
    return [text, refusal].find((words) => typeof words === "string");
  });
  return texts.includes(undefined) ? undefined : texts.join("");
}

/** Events with a piece of text. */
const DELTAS = new Set([
  "response.output_text.delta",
  "response.refusal.delta",
  "response.reasoning_text.delta",
  "response.reasoning_summary_text.delta",
]);

/** Events without text, and those of tool calls, whose finished items have everything. */
const NO_TEXT = new Set([
  "response.created",
  "response.queued",
  "response.in_progress",
  "response.output_item.added",
  "response.content_part.added",
  "response.reasoning_summary_part.added",
  "response.function_call_arguments.delta",
  "response.function_call_arguments.done",
]);

/** Events that repeat the whole text: used only when there were no deltas. */
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
  if (DELTAS.has(type)) return textIn(event.delta);
  if (NO_TEXT.has(type)) return "";
  if (type === "response.output_item.done") {
    const item = part(event.item);
    const isSpoken = item?.type === "message" || item?.type === "reasoning";
    return isSpoken && !isFirst ? "" : inItems([event.item ?? null]);
  }
  const whole = WHOLES[type];
  if (!whole) return undefined;
  return isFirst ? whole(event) : "";
}

/** Items of a response; undefined when one has more than text. */
function inItems(items: Json | undefined): string | undefined {
  if (!Array.isArray(items)) return undefined;
  const texts = items.map((one) => {
    const { type, content, summary } = part(one) ?? {};
    if (type === "message") return textIn(content);
    return type === "reasoning" ? textIn(isNothing(content) ? summary : content) : undefined;
  });
  return texts.includes(undefined) ? undefined : texts.filter((text) => text !== "").join("\n\n");
}
