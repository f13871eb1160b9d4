/** Files that a text has as a data URI. */
import { dataUriHead } from "../../../src/domain/files/data-uri.ts";
import { madeName } from "../../../src/domain/files/media-types.ts";

export interface DataFile {
  name: string;
  mime_type: string;
  bytes: Buffer;
}

/** Returns undefined for any other text, which is plain text. */
export function decodeDataUri(text: string): DataFile | undefined {
  const head = dataUriHead(text);
  if (!head) return undefined;
  const { mime_type, length } = head;
  const content = text.slice(length);
  const bytes = Buffer.from(content, "base64");
  // The decoder skips invalid characters, so compare with the re-encoded content.
  if (bytes.toString("base64") !== content) return undefined;
  return { name: madeName("output", mime_type), mime_type, bytes };
}
