/** `Buffer`, which Node and workerd have, for files whose types know only one of them. */

/** The length in UTF-8. Both Node and workerd have `Buffer`, which makes no copy. */
export const utf8Length = (text: string): number => Buffer.byteLength(text);

export const base64Of = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString("base64");

/** Returns the bytes of base64, without what is none of it. */
export const bytesOfBase64 = (base64: string): Uint8Array => Buffer.from(base64, "base64");

/** Returns how many bytes base64 has, without decoding it. */
export const lengthOfBase64 = (base64: string): number => Buffer.byteLength(base64, "base64");
