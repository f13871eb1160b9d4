/** A data URL as the address of a blob: pages neither play data URLs nor open them. */
export function blobAddress(address: string): string {
  const blob = blobOf(address);
  return blob ? URL.createObjectURL(blob) : address;
}

/** Undefined for any other address. */
export function blobOf(address: string): Blob | undefined {
  const [, type, base64] = /^data:([\w.+/-]+);base64,(.*)$/s.exec(address) ?? [];
  if (type === undefined || base64 === undefined) return undefined;
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new Blob([bytes], { type });
}
