/** Files as text: base64 `data:` URIs (RFC 2397) that name their media type. */
import mime from "mime/lite";
import { createUpload } from "../../../src/protocol/upload.ts";

export interface DataFile {
  name: string;
  mime_type: string;
  bytes: Buffer;
}

/** Where the content begins, at the latest. */
const MAX_HEAD_CHARS = 300;
const HEAD = /^data:([^,]+);base64$/i;

/** What `mime` has under a name that nobody uses, or not at all. */
const EXTENSIONS: Record<string, string> = { "audio/mpeg": "mp3", "audio/x-wav": "wav" };

/** Undefined for whatever is not exactly such a URI: that is text. */
export function decodeDataUri(text: string): DataFile | undefined {
  const comma = text.slice(0, MAX_HEAD_CHARS).indexOf(",");
  const [, type] = HEAD.exec(text.slice(0, Math.max(comma, 0))) ?? [];
  const mimeType = createUpload.shape.mime_type.safeParse(type);
  if (!mimeType.success) return undefined;
  const content = text.slice(comma + 1);
  const bytes = Buffer.from(content, "base64");
  // The decoder passes over what it does not know: only what comes out again is base64.
  if (bytes.toString("base64") !== content) return undefined;
  return { name: fileNameFor(mimeType.data), mime_type: mimeType.data, bytes };
}

/** What a file is called of which only the media type is known. */
export function fileNameFor(mimeType: string): string {
  const [type = ""] = mimeType.toLowerCase().split(";");
  return `output.${EXTENSIONS[type.trim()] ?? mime.getExtension(type) ?? "bin"}`;
}
