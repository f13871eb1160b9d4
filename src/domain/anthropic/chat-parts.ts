/** Blocks of content as the parts of a chat message. */
import type { Json } from "../../protocol/common.ts";
import { type Fields, fieldsOf, listOf, textOf } from "../openai/response-json.ts";
import { NotSupportedByChat } from "../openai/strict-fields.ts";
import { type BlockPlace, plainBlock } from "./plain-blocks.ts";

/** @param path of the content in the caller's body */
export function partsOf(content: Json | undefined, place: BlockPlace, path: string): Fields[] {
  if (typeof content === "string") return [textPart(content)];
  return listOf(content).flatMap((block, n) =>
    partsOfBlock(fieldsOf(block), place, `${path}.${n}`),
  );
}

/**
 * Returns content: text alone becomes a string, since some servers accept nothing else.
 * @param glue between texts
 */
export const contentOf = (parts: Fields[], glue: string): Json =>
  parts.every(({ type }) => type === "text")
    ? parts.map(({ text }) => textOf(text)).join(glue)
    : parts;

export const textPart = (text: string): Fields => ({ type: "text", text });

/** @throws NotSupportedByChat */
export function partsOfBlock(own: Fields, place: BlockPlace, path: string): Fields[] {
  const block = plainBlock(own, place, path);
  if (!block) return [];
  switch (block.type) {
    case "text":
      return [textPart(textOf(block.text))];
    case "image":
      return [{ type: "image_url", image_url: { url: imageUrl(fieldsOf(block.source), path) } }];
    case "document":
      return documentParts(block, place, path);
    case "search_result": {
      const heading = [block.title, block.source].map(textOf).filter(Boolean).join("\n");
      return [textPart(heading), ...partsOf(block.content, place, `${path}.content`)];
    }
    default:
      throw new NotSupportedByChat(
        path,
        `the model's container does not support content of type '${textOf(block.type)}'.`,
      );
  }
}

function imageUrl({ type, media_type, data, url }: Fields, path: string): string {
  if (type === "base64") return `data:${textOf(media_type)};base64,${textOf(data)}`;
  if (type === "url") return textOf(url);
  throw new NotSupportedByChat(`${path}.source`, "an image needs its data or its address.");
}

function documentParts(
  { source, title, context }: Fields,
  place: BlockPlace,
  path: string,
): Fields[] {
  const { type, media_type, data, content } = fieldsOf(source);
  const about = [title, context].map(textOf).filter(Boolean).map(textPart);
  switch (type) {
    case "text":
      return [...about, textPart(textOf(data))];
    case "content":
      return [...about, ...partsOf(content, place, `${path}.source.content`)];
    case "base64": {
      const file_data = `data:${textOf(media_type)};base64,${textOf(data)}`;
      return [{ type: "file", file: { filename: textOf(title) || "document.pdf", file_data } }];
    }
    default:
      throw new NotSupportedByChat(`${path}.source`, "a document needs its content.");
  }
}
