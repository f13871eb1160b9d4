/** Estimates the tokens of a request from its length, for containers that do not count them. */
import type { Json } from "../../protocol/common.ts";
import { isFields } from "../openai/response-json.ts";

/** The characters per token, typical for English text in most models' tokenizers. */
const CHARACTERS_PER_TOKEN = 4;
/** The tokens of an image of any size: the convention's own service counts about as many. */
const IMAGE_TOKENS = 1_500;

const IMAGES = new Set<unknown>(["image", "input_image"]);

/** Fields that are not counted: ids, types and encoded files are no text. */
const NO_TEXT = new Set([
  ...["type", "id", "tool_use_id", "call_id", "cache_control", "signature", "encrypted_content"],
  ...["data", "file_data", "url", "image_url"],
]);

export const estimatedTokens = ({
  system,
  messages,
  tools,
}: {
  [name: string]: Json | undefined;
}) =>
  Math.ceil(charactersIn([system ?? null, messages ?? null, tools ?? null]) / CHARACTERS_PER_TOKEN);

/** Counts characters. Not recursive, because the depth is not limited. */
function charactersIn(content: Json): number {
  let count = 0;
  for (const waiting = [content]; waiting.length > 0; ) {
    const one = waiting.pop() ?? null;
    if (typeof one === "string") count += one.length;
    else if (Array.isArray(one)) for (const part of one) waiting.push(part);
    else if (isFields(one)) {
      if (IMAGES.has(one.type)) count += IMAGE_TOKENS * CHARACTERS_PER_TOKEN;
      for (const [name, value] of Object.entries(one)) if (!NO_TEXT.has(name)) waiting.push(value);
    } else if (one !== null) count += String(one).length;
  }
  return count;
}
