/** Files as base64 `data:` URIs (RFC 2397) with a media type. */
import { madeName } from "../../../src/domain/files/media-types.ts";
import { createUpload } from "../../../src/protocol/upload.ts";

export interface DataFile {
  name: string;
  mime_type: string;
  bytes: Buffer;
}

/** The header must end within this many characters. */
const MAX_HEAD_CHARS = 300;
const HEAD = /^data:([^,]+);base64$/i;

/** Undefined for anything else, which is plain text. */
export function decodeDataUri(text: string): DataFile | undefined {
  const comma = text.slice(0, MAX_HEAD_CHARS).indexOf(",");
  const [, type] = HEAD.exec(text.slice(0, Math.max(comma, 0))) ?? [];
  const mimeType = createUpload.shape.mime_type.safeParse(type);
  if (!mimeType.success) return undefined;
  const content = text.slice(comma + 1);
  const bytes = Buffer.from(content, "base64");
  // The decoder skips invalid characters, so compare with the re-encoded content.
  if (bytes.toString("base64") !== content) return undefined;
  return { name: madeName("output", mimeType.data), mime_type: mimeType.data, bytes };
}
