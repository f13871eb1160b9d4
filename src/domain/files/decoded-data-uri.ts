/** Files that stand in a text as data URIs. */
import { base64Of, bytesOfBase64 } from "../../lib/buffer.ts";
import { dataUriHead } from "./data-uri.ts";
import { madeName } from "./media-types.ts";

export interface DataFile {
  name: string;
  mime_type: string;
  bytes: Uint8Array;
}

/** Returns undefined for any other text, which is plain text. */
export function decodeDataUri(text: string): DataFile | undefined {
  const head = dataUriHead(text);
  if (!head) return undefined;
  const { mime_type, length } = head;
  const content = text.slice(length);
  const bytes = bytesOfBase64(content);
  // The decoder skips invalid characters, so compare with the re-encoded content.
  if (base64Of(bytes) !== content) return undefined;
  return { name: madeName("output", mime_type), mime_type, bytes };
}
