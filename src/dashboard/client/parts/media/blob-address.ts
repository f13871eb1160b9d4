import { dataUriHead } from "../../../../domain/files/data-uri.ts";

/** A data URL as the address of a blob: pages neither play data URLs nor open them. */
export function blobAddress(address: string): string {
  const blob = blobOf(address);
  return blob ? URL.createObjectURL(blob) : address;
}

/** Returns the blob of a data URL; undefined for any other address. */
export function blobOf(address: string): Blob | undefined {
  const head = dataUriHead(address);
  if (!head) return undefined;
  const base64 = address.slice(head.length);
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new Blob([bytes], { type: head.mime_type });
}
