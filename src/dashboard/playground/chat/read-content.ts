/** The content of a message: a text, or parts as any of the three conventions writes them. */
import { isObject } from "../../../lib/json.ts";
import type { Json } from "../../../protocol/common.ts";
import type { Picture, ToolCall } from "./conversation.ts";

export type Part = { [name: string]: Json };

export interface Content {
  text: string;
  reasoning: string;
  pictures: Picture[];
  calls: ToolCall[];
  results: { id: string; text: string }[];
}

/** @returns undefined for a part that the chat has no place for */
export function contentOf(content: Json | undefined): Content | undefined {
  const read: Content = { text: "", reasoning: "", pictures: [], calls: [], results: [] };
  if (content === undefined || content === null) return read;
  if (typeof content === "string") return { ...read, text: content };
  if (!Array.isArray(content)) return undefined;
  return content.every((part) => isObject(part) && take(read, part)) ? read : undefined;
}

/** What clients repeat of an answer although it says nothing, such as `refusal: null`. */
export const isEmptyPart = (value: Json | undefined): boolean =>
  value === null || value === "" || (Array.isArray(value) && value.length === 0);

function take(read: Content, part: Part): boolean {
  const { type, text } = part;
  switch (type) {
    case "text":
    case "input_text":
    case "output_text":
      if (typeof text !== "string") return false;
      read.text += read.text === "" ? text : `\n${text}`;
      return true;
    case "thinking":
      read.reasoning += typeof part.thinking === "string" ? part.thinking : "";
      return true;
    case "image_url": {
      const picture: Part = isObject(part.image_url)
        ? part.image_url
        : { url: part.image_url ?? null };
      return hasUsualDetail(picture.detail) && takePicture(read, picture.url);
    }
    case "input_image":
      return hasUsualDetail(part.detail) && takePicture(read, part.image_url);
    case "image":
      return takePicture(read, addressOf(part.source));
    case "tool_use":
      return takeCall(read, part);
    case "tool_result":
      return takeResult(read, part);
    default:
      return false;
  }
}

/** What the chat sends: another would be lost. */
const hasUsualDetail = (detail: Json | undefined) => detail === undefined || detail === "auto";

function takePicture({ pictures }: Content, url: Json | undefined): boolean {
  if (typeof url !== "string") return false;
  const name = /^https?:[^?#]*\/([\w.%-]+\.\w+)(?:[?#]|$)/.exec(url)?.[1];
  pictures.push({ url, name: name ?? `Picture ${pictures.length + 1}`, preview: "" });
  return true;
}

function addressOf(source: Json | undefined): Json | undefined {
  if (!isObject(source)) return undefined;
  const { type, url, media_type, data } = source;
  if (type === "url") return url;
  const areTexts = typeof media_type === "string" && typeof data === "string";
  return type === "base64" && areTexts ? `data:${media_type};base64,${data}` : undefined;
}

function takeCall({ calls }: Content, { id, name, input }: Part): boolean {
  if (typeof id !== "string" || typeof name !== "string") return false;
  calls.push({ id, name, arguments: JSON.stringify(input ?? {}) });
  return true;
}

function takeResult({ results }: Content, part: Part): boolean {
  const { tool_use_id: id, content, is_error } = part;
  const inner = contentOf(content);
  if (is_error === true || typeof id !== "string" || !inner || inner.pictures.length > 0)
    return false;
  results.push({ id, text: inner.text });
  return true;
}
